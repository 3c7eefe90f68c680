package collection

import (
	"testing"

	"github.com/cilium/ebpf"
)

func TestSectionOf(t *testing.T) {
	for _, test := range []struct {
		name, attachTo string
		want           string // selector
		session, left  bool
	}{
		{name: "usdt", want: ""},
		{name: "usdt.s", want: ""},
		{name: "usdt/./a:b:c", attachTo: "./a:b:c", want: "./a:b:c"},
		{name: "usdt.s//a:b:c", attachTo: "/x:b:c", want: "/x:b:c"},
		{name: "?usdt/a:b:c", attachTo: "a:b:c", want: ""},
		{name: "uprobe.multi/libc.so.6:mem*", attachTo: "libc.so.6:mem*", want: "uprobe:libc.so.6:mem*"},
		{name: "uretprobe.multi.s/a:b", attachTo: "a:b", want: "uretprobe:a:b"},
		{name: "uprobe.session/a:b", attachTo: "a:b", want: "uprobe:a:b", session: true},
		{name: "uprobe/a:b+0x10", attachTo: "a:b+0x10", want: "uprobe:a:b+0x10"},
		{name: "uretprobe.s/a:b", attachTo: "a:b", want: "uretprobe:a:b"},
		{name: "uprobe", want: ""},
		{name: "?uprobe/a:b", attachTo: "a:b", want: ""},
		{name: "kprobe/f", attachTo: "f", want: "f"},
		{name: "tp/g/n", attachTo: "g/n", want: "g/n"},
		{name: "fentry.s/f", attachTo: "f", want: "f"},
		{name: "kprobe", want: ""},
		{name: "?tp/g/n", attachTo: "g/n", want: ""},
		{name: "?fentry/f", attachTo: "f", left: true},
		{name: "kprobe.multi/f*", attachTo: "f*", want: "f*"},
		{name: "kretprobe.multi", want: ""},
		{name: "raw_tp", left: true},
		{name: "kprobe.session/f", attachTo: "f", want: "f", session: true},
		{name: "raw_tp.w/n", attachTo: "n", want: "n"},
		{name: "freplace/f", attachTo: "f", want: "f"},
		{name: "fentry.multi/f*", attachTo: "f*", want: "fentry:f*"},
		{name: "fexit.multi.s/f*", attachTo: "f*", want: "fexit:f*"},
		{name: "fsession.multi", want: "", session: true},
		{name: "fentry.future/f*", left: true},
		{name: "struct_ops.s/f", left: true},
		{name: "xdp.frags", left: true},
		{name: "perf_event", left: true},
		{name: "iter/task", attachTo: "task", want: "task"},
		{name: "iter", left: true},
		{name: "ksyscall/openat", attachTo: "openat", want: "openat"},
		{name: "usdtx/a:b:c", attachTo: "a:b:c", left: true},
	} {
		s, ok := sectionOf(&ebpf.ProgramSpec{SectionName: test.name, AttachTo: test.attachTo})
		if s.selector != test.want || s.session != test.session || ok == test.left {
			t.Errorf("section %s: %+v, attached %t, want selector %q, session %t, attached %t", test.name, s, ok, test.want, test.session, !test.left)
		}
	}
}
