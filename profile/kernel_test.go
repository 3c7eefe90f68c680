package profile

import (
	"math"
	"testing"

	"github.com/go-usdt/usdt/symbols"
)

// TestKernelFrames checks that functions of the kernel are marked in folded stacks, and that pprof has
// them by their addresses, which differ from those of files.
func TestKernelFrames(t *testing.T) {
	const at = 0xffffffff81234560
	frames := []symbols.Frame{
		{Address: at, Func: "vfs_read", Module: "[kernel]", Offset: 0x10},
		{Address: at + 0x1000, Func: "ksys_read", Module: "[kernel]", Offset: 0x10},
		{Address: 0x401010, Func: "main", Module: "/bin/x", Offset: 0x10},
	}
	p := New("")
	s := &sample{comm: "c", values: []int64{3}}
	for i := range frames {
		s.stack = append(s.stack, p.callsOf(frames[i:i+1]))
	}
	p.samples["one"] = s
	folded, read := written(t, p)
	if want := "c;main;ksys_read_[k];vfs_read_[k] 3\n"; folded != want {
		t.Errorf("folded: %q, want %q", folded, want)
	}
	for i, l := range read.Sample[0].Location {
		m := l.Mapping
		switch kernel := i < 2; {
		case kernel && (l.Address != frames[i].Address || m.File != "[kernel]" || m.Start != 1<<63 || m.Limit != math.MaxUint64):
			t.Errorf("%s is at %#x of %+v, want %#x of the kernel", frames[i].Func, l.Address, m, frames[i].Address)
		case !kernel && (l.Address != 0x10 || m.File != "/bin/x" || m.Start != 0):
			t.Errorf("%s is at %#x of %+v, want 0x10 of its file", frames[i].Func, l.Address, m)
		}
	}
}
