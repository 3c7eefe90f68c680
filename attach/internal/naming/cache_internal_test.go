package naming

import (
	"testing"

	"github.com/go-usdt/usdt/symbols"
)

// TestNameCache checks that names are found by what a process had mapped, and that the names of
// code with any number of inlined functions do not take memory without end.
func TestNameCache(t *testing.T) {
	var c nameCache
	frames := make([]symbols.Frame, 256)
	for pc := range uint64(10000) {
		c.keep(place{1, pc, true}, frames)
		if c.size > maxNames || len(c.names)*len(frames)*160 > maxNames {
			t.Fatalf("%d addresses with 256 functions each are kept, %d bytes", len(c.names), c.size)
		}
	}
	if _, ok := c.find(place{1, 9999, true}); !ok {
		t.Error("the last names are not found")
	}
	for _, at := range []place{{2, 9999, true}, {1, 9999, false}} {
		if _, ok := c.find(at); ok {
			t.Errorf("names are found at %+v, which was not looked up", at)
		}
	}
}
