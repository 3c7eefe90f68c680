package format

import (
	"math"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		unit  Unit
		value any
		want  string
	}{
		{"", uint64(9999), "9999"},
		{"", uint64(10000), "10,000"},
		{"", uint64(math.MaxUint64), "18,446,744,073,709,551,615"},
		{"", int64(-1234567), "-1,234,567"},
		{"", int64(math.MinInt64), "-9,223,372,036,854,775,808"},
		{"", 0.25, "0.25"},
		{"", 1234567*time.Nanosecond + time.Second, "1.001s"},
		{"ns", uint64(1234567), "1.235ms"},
		{"ns", uint64(999), "999ns"},
		{"us", int64(-1500), "-1.5ms"},
		{"ms", uint64(3_600_500), "1h0m1s"},
		{"s", 0.5, "500ms"},
		{"s", uint64(math.MaxUint64), "18446744073709551616"},
		{"bytes", uint64(1023), "1023B"},
		{"bytes", uint64(1536), "1.5KiB"},
		{"bytes", uint64(1<<20 - 1), "1MiB"},
		{"bytes", uint64(math.MaxUint64), "16EiB"},
		{"kB", uint64(64), "64KiB"},
		{"pages", uint64(64), "64"},
	} {
		if got := string(test.unit.append(nil, test.value)); got != test.want {
			t.Errorf("%v in %q: got %s, want %s", test.value, test.unit, got, test.want)
		}
	}
	for v, want := range map[float64]string{1.0 / 3: "0.333333", 1e5 / 3: "33333.3", 1e7 / 3: "3,333,333", 1e300: "1e+300", -2.5: "-2.5"} {
		if got := string(Unit("").appendMean(nil, v)); got != want {
			t.Errorf("mean %v: got %s, want %s", v, got, want)
		}
	}
	for b, want := range map[float64]string{1 << 20: "1.048576ms", math.Inf(1): "+Inf"} {
		if got := Unit("ns").bound(b); got != want {
			t.Errorf("bound %v: got %s, want %s", b, got, want)
		}
	}
	if got := Unit("bytes").bound(4096); got != "4KiB" {
		t.Errorf("bound of bytes: got %s, want 4KiB", got)
	}
}
