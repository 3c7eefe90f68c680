package naming

import (
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/kallsyms"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// TestKernelNames checks that code of the kernel is named, by processes as well, and that addresses
// which call what never returns belong to their callers.
func TestKernelNames(t *testing.T) {
	needs.Root(t)
	table, err := kallsyms.Read()
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	for f := range table.All() {
		if f.Name == "vfs_read" {
			at = f.Address
		}
	}
	if at == 0 {
		t.Fatal("the kernel has no vfs_read")
	}
	p := (&Code{}).newProcess(nil)
	for _, test := range []struct {
		pc   uint64
		call bool
		want symbols.Frame
	}{
		{at, false, symbols.Frame{Address: at, Func: "vfs_read", Module: "[kernel]"}},
		{at + 5, true, symbols.Frame{Address: at + 5, Func: "vfs_read", Module: "[kernel]", Offset: 5}},
		{1 << 63, false, symbols.Frame{Address: 1 << 63, Module: "[kernel]"}},
	} {
		if got := p.Names(test.pc, test.call); !slices.Equal(got, []symbols.Frame{test.want}) {
			t.Errorf("at %#x: %+v, want %+v", test.pc, got, test.want)
		}
	}
	before, _, _ := table.At(at - 1)
	if got := p.Names(at, true); got[0].Func != before.Name || got[0].Address != at {
		t.Errorf("a call returns to %+v, want it in %s, which precedes vfs_read", got[0], before.Name)
	}
	k := &p.code.kernel
	k.table = &kallsyms.Table{}        // from before vfs_read was there
	k.read = time.Now().Add(time.Hour) // however long this test waits for a processor
	if got := p.Names(at, false); got[0].Func != "" {
		t.Errorf("%+v is named by functions that were read too often", got[0])
	}
	k.read = time.Now().Add(-readKernelInterval)
	if got := p.Names(at, false); got[0].Func != "vfs_read" {
		t.Errorf("%+v is not named by functions that are new", got[0])
	}
}
