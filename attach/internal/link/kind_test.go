package link

import (
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestKinds checks that each kind has a line in the table with its name and how
// it attaches, and that other values are refused.
func TestKinds(t *testing.T) {
	for k, want := range map[Kind]string{Auto: "auto", Multi: "uprobe_multi", Perf: "perf event", -1: "LinkKind(-1)", 3: "LinkKind(3)"} {
		if got := k.String(); got != want {
			t.Errorf("name %q, want %q", got, want)
		}
	}
	for k := Auto + 1; int(k) < len(mechanisms); k++ {
		if m := &mechanisms[k]; m.name == "" || m.attach == nil || m.usable != nil && m.since == "" {
			t.Errorf("the table lacks something of kind %d", int(k))
		}
	}
	if k, err := Choose(3, false); err == nil {
		t.Errorf("a kind that does not exist is taken for %v", k)
	}
	if k, err := Choose(Perf, true); err != nil || k != Perf {
		t.Errorf("asked for perf events: %v, %v", k, err)
	}
}

// TestWays checks that each kind of sites of the kernel has a way to attach to it, and no other kind.
func TestWays(t *testing.T) {
	for _, k := range reader.ProbeKinds() {
		if way := ways[k]; (way.choose != nil) != k.InKernel() || (way.check != nil) != k.InKernel() {
			t.Errorf("the table has choose %t and check %t for %v, which is in the kernel: %t", way.choose != nil, way.check != nil, k, k.InKernel())
		}
	}
	if k, err := ChooseKernel(reader.Tracepoint, Multi); err != nil || k != Tracepoint {
		t.Errorf("of tracepoints: %v, %v", k, err)
	}
}
