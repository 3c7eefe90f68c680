package format

import (
	"math"
	"strconv"
	"time"

	"github.com/go-usdt/usdt/internal/printable"
)

// Unit is what the numbers of a group count: a unit of package prototype, or "" of plain
// numbers. Numbers are written so that people read them; JSON has them as they are.
type Unit string

// durations are the units of times.
var durations = map[Unit]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
}

// multiples are the units of memory, in bytes.
var multiples = map[Unit]float64{"bytes": 1, "kB": 1 << 10}

// append appends a value of a group.
func (u Unit) append(dst []byte, value any) []byte {
	switch v := value.(type) {
	case time.Duration:
		return AppendDuration(dst, v)
	case uint64:
		if u.hasName() {
			return u.appendFloat(dst, float64(v))
		}
		return AppendCount(dst, v)
	case int64:
		if u.hasName() {
			return u.appendFloat(dst, float64(v))
		}
		if v < 0 {
			return AppendCount(append(dst, '-'), -uint64(v))
		}
		return AppendCount(dst, uint64(v))
	case float64:
		return u.appendFloat(dst, v)
	case time.Time:
		return v.AppendFormat(dst, time.RFC3339Nano)
	}
	return dst
}

// hasName reports whether numbers are written with a unit behind them.
func (u Unit) hasName() bool { return durations[u] != 0 || multiples[u] != 0 }

func (u Unit) appendFloat(dst []byte, v float64) []byte {
	switch {
	case durations[u] != 0 && math.Abs(v*float64(durations[u])) < math.MaxInt64:
		return AppendDuration(dst, time.Duration(math.Round(v*float64(durations[u]))))
	case multiples[u] != 0:
		return appendBytes(dst, v*multiples[u])
	}
	return printable.AppendFloat(dst, v)
}

// appendMean appends an average or a deviation, whose last digits mean nothing.
func (u Unit) appendMean(dst []byte, value any) []byte {
	v, ok := value.(float64)
	if !ok || u.hasName() {
		return u.append(dst, value)
	}
	return AppendShort(dst, v, 4)
}

// appendRate appends an amount a second.
func (u Unit) appendRate(dst []byte, value any) []byte {
	if v := value.(float64); !u.hasName() {
		return AppendShort(dst, v, 4)
	}
	return u.append(dst, value)
}

// AppendShort appends a number with so many significant digits, or all of those in front
// of the point.
func AppendShort(dst []byte, v float64, digits int) []byte {
	if math.Abs(v) < math.Pow10(digits-1) {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
		return printable.AppendFloat(dst, v)
	}
	if math.Abs(v) >= 1<<63 {
		return strconv.AppendFloat(dst, v, 'g', digits, 64)
	}
	return Unit("").append(dst, int64(math.Round(v)))
}

// AppendCount appends a number whose digits from 10,000 on stand in groups of three.
func AppendCount(dst []byte, n uint64) []byte {
	digits := strconv.AppendUint(nil, n, 10)
	for i, d := range digits {
		if i > 0 && len(digits) > 4 && (len(digits)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d)
	}
	return dst
}

// AppendDuration appends a duration with three significant digits or, from a minute on, in seconds.
func AppendDuration(dst []byte, d time.Duration) []byte {
	if d.Abs() >= time.Minute {
		return append(dst, d.Round(time.Second).String()...)
	}
	return append(dst, significant(d, 3).String()...)
}

// significant rounds to so many significant digits.
func significant(d time.Duration, digits int) time.Duration {
	unit := time.Duration(1)
	for most := time.Duration(math.Pow10(digits)); d.Abs()/unit >= most; {
		unit *= 10
	}
	return d.Round(unit)
}

// appendBytes appends a number of bytes, in the units of IEC 80000-13.
func appendBytes(dst []byte, n float64) []byte {
	prefixes := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; math.Abs(n) >= 1023.5 && i < len(prefixes)-1; i++ {
		n /= 1024
	}
	return append(strconv.AppendFloat(dst, n, 'g', 4, 64), prefixes[i]...)
}

// Bound returns a bound of a histogram: a power of two with two digits, if it is not short by itself,
// or exactly.
func (u Unit) Bound(b float64, exactly bool) string {
	switch unit := durations[u]; {
	case math.IsInf(b, 0):
	case unit != 0 && math.Abs(b*float64(unit)) < math.MaxInt64:
		d := time.Duration(math.Round(b * float64(unit)))
		if !exactly {
			d = significant(d, 2)
		}
		return d.String()
	case u.hasName():
		return string(u.appendFloat(nil, b))
	case !exactly && math.Abs(b) >= 10_000:
		return string(appendThousands(nil, b))
	case !exactly && math.Abs(b) < 1:
		return string(AppendShort(nil, b, 2))
	}
	return string(printable.AppendFloat(nil, b))
}

// appendThousands appends a large number with two digits, and the prefix of the SI for its thousands.
func appendThousands(dst []byte, v float64) []byte {
	prefixes := "kMGTPE"
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	for i := range prefixes {
		if v /= 1000; math.Abs(v) < 999.5 {
			return append(AppendShort(dst, v, 3), prefixes[i])
		}
	}
	return AppendShort(dst, v*1e18, 2)
}
