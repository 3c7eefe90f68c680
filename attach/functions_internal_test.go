package attach

import (
	"context"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/process"
)

// TestFunctionsForgotten holds that what was counted for the error of a first
// look is not kept, nor counted in later ones.
func TestFunctionsForgotten(t *testing.T) {
	d, err := newDiscovery(context.Background(), []string{"uprobe:/proc/self/exe:no such function"}, &process.Set{})
	if err != nil {
		t.Fatal(err)
	}
	for look := range 3 {
		if _, err := d.more(); err != nil {
			t.Fatal(err)
		}
		d.countFunctions("/another", 1)
		if n := len(d.functions); n != 0 {
			t.Errorf("look %d: functions of %d objects are kept", look, n)
		}
	}
}
