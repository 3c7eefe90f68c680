package flagvalue

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Bytes is a flag for a number of bytes.
type Bytes int

// units may follow a number of bytes. As in GNU's tools, K is 1024 and
// KB 1000.
var units = map[string]int64{
	"": 1, "B": 1,
	"K": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
	"M": 1 << 20, "MIB": 1 << 20, "MB": 1e6,
	"G": 1 << 30, "GIB": 1 << 30, "GB": 1e9,
}

func (b *Bytes) Set(s string) error {
	digits := len(s) - len(strings.TrimLeft(s, "+-0123456789"))
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	unit, ok := units[strings.ToUpper(strings.TrimSpace(s[digits:]))]
	switch {
	case err != nil || !ok:
		return errors.New("want a number of bytes, or one with K, M or G")
	case n > math.MaxInt/unit || n < math.MinInt/unit:
		return errors.New("the number of bytes does not fit 64 bits")
	}
	*b = Bytes(n * unit)
	return nil
}

func (b *Bytes) String() string { return formatBytes(int(*b)) }
func (b *Bytes) Type() string   { return "bytes" }

// formatBytes writes n as a multiple of the largest unit that divides it.
func formatBytes(n int) string {
	unit := ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.Itoa(n) + unit
}
