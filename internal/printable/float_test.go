package printable_test

import (
	"math"
	"testing"

	"github.com/go-usdt/usdt/internal/printable"
)

func TestAppendFloat(t *testing.T) {
	for f, want := range map[float64]string{
		1 << 20: "1048576", 1<<53 + 2: "9007199254740994", 1 << 60: "1152921504606846976", -1e20: "-100000000000000000000", 1e21: "1e+21",
		0: "0", 0.25: "0.25", 1234567.5: "1234567.5", 1e-6: "0.000001", 1e-7: "1e-07", math.Inf(1): "+Inf",
	} {
		if got := string(printable.AppendFloat([]byte("x"), f)); got != "x"+want {
			t.Errorf("%v: got %s, want x%s", f, got, want)
		}
	}
}
