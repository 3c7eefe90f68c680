package printable

import (
	"math"
	"strconv"
)

// AppendFloat appends a number as people and JSON write it: without an exponent
// from 1e-6 to 1e21, and integers in full.
func AppendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	digits := -1 // as many as f needs to be distinct
	if format == 'f' && f == math.Trunc(f) {
		digits = 0
	}
	return strconv.AppendFloat(dst, f, format, digits, 64)
}
