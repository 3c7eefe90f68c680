package topsource

import (
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestSelectorsOf checks the selectors by which a probe is looked at more closely, of each kind of probes.
func TestSelectorsOf(t *testing.T) {
	site := func(kind reader.ProbeKind, path, provider, name string) attach.Site {
		return attach.Site{Probe: reader.Probe{Kind: kind, Path: path, Note: notes.Note{Provider: provider, Name: name}}}
	}
	s := &Source{
		Selectors: []string{"shop:*", "/bin/a:shop:buy", "uprobe:/bin/a:*", "kprobe:vfs_*", "tracepoint:sched:*"},
		plan: attach.Plan{
			site(reader.USDT, "/bin/a", "shop", "buy"),
			site(reader.USDT, "/bin/b", "shop", "sell"),
			site(reader.Uprobe, "/bin/a", "", "main"),
			site(reader.Kprobe, "", "vmlinux", "vfs_read"),
			site(reader.Tracepoint, "", "sched", "sched_switch"),
		},
	}
	for i, want := range [][]string{
		{"shop:buy", "/bin/a:shop:buy"},
		{"shop:sell"},
		{"uprobe:/bin/a:main"},
		{"kprobe:vmlinux:vfs_read"},
		{"tracepoint:sched:sched_switch"},
	} {
		p := &s.plan[i].Probe
		got := s.selectorsOf(nameOf(p))
		if !slices.Equal(got, want) {
			t.Errorf("selectors of %s: %q, want %q", nameOf(p), got, want)
		}
		for _, text := range got {
			if _, err := selector.Parse(text); err != nil {
				t.Errorf("%s is no selector: %v", text, err)
			}
		}
	}
}
