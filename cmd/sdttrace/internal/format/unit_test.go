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
		{"", 1234567*time.Nanosecond + time.Second, "1s"},
		{"ns", uint64(1234567), "1.23ms"},
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
	for v, want := range map[float64]string{1.0 / 3: "0.3333", 1e5 / 3: "33,333", 1e7 / 3: "3,333,333", 1e300: "1e+300", -2.5: "-2.5"} {
		if got := string(Unit("").appendMean(nil, v)); got != want {
			t.Errorf("mean %v: got %s, want %s", v, got, want)
		}
	}
	for _, test := range []struct {
		unit    Unit
		bound   float64
		exactly bool
		want    string
	}{
		{"ns", 1 << 20, false, "1ms"},
		{"ns", 1 << 18, false, "260µs"},
		{"ns", 1 << 18, true, "262.144µs"},
		{"ns", 1 << 36, false, "1m9s"},
		{"ns", math.Inf(1), false, "+Inf"},
		{"us", 1 << 10, false, "1ms"},
		{"bytes", 4096, false, "4KiB"},
		{"", 512, false, "512"},
		{"", 1 << 14, false, "16k"},
		{"", 1 << 20, false, "1M"},
		{"", -(1 << 60), false, "-1.2E"},
		{"", 1 << 14, true, "16384"},
		{"", 0.125, false, "0.12"},
		{"", 1e300, false, "1e+300"},
	} {
		if got := test.unit.Bound(test.bound, test.exactly); got != test.want {
			t.Errorf("bound %v in %q, exactly %v: got %s, want %s", test.bound, test.unit, test.exactly, got, test.want)
		}
	}
}
