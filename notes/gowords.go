package notes

import (
	"encoding/binary"
	"math"
	"time"
)

// Seconds since 1970 at which the seconds of a GoTimeType begin.
const (
	GoYear1    = -62_135_596_800 // of the second word
	GoYear1885 = -2_682_288_000  // of 33 bits of the first word, if its highest is set
)

// GoNanosecondBits is the number of low bits of a [GoTimeType]'s first word that
// hold the nanoseconds within the second.
const GoNanosecondBits = 30

// GoTime returns the time that the first two words of a [GoTimeType] hold, as the
// value of a [TimeType].
func GoTime(wall uint64, ext int64) int64 {
	s, ns := ext+GoYear1, int64(wall&(1<<GoNanosecondBits-1))
	if wall>>63 != 0 {
		s = int64(wall<<1>>(GoNanosecondBits+1)) + GoYear1885
	}
	switch {
	case s == GoYear1 && ns == 0:
		return ZeroTime
	case s <= math.MinInt64/int64(time.Second):
		return MinTime
	case s >= math.MaxInt64/int64(time.Second):
		return MaxTime
	}
	return s*int64(time.Second) + ns
}

// GoAddr returns the address that the three words of a [GoAddrType] hold: its bytes
// in network order, and their number, which is 4, 16, or 0 for no address. ipv4 is
// the value of the register that [IPv4Register] describes.
func GoAddr(high, low, z, ipv4 uint64) (b [16]byte, n int) {
	switch z {
	case 0:
	case ipv4:
		binary.BigEndian.PutUint32(b[:], uint32(low))
		n = 4
	default:
		binary.BigEndian.PutUint64(b[:], high)
		binary.BigEndian.PutUint64(b[8:], low)
		n = 16
	}
	return b, n
}
