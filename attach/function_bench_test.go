package attach_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkFunctions attaches to the functions of a program and detaches again:
// bare, by one system call on known offsets; and with everything that Open does.
func BenchmarkFunctions(b *testing.B) {
	const n = 3000
	path := buildMany(b, n)
	for _, kind := range []string{"uprobe", "uretprobe"} {
		b.Run(fmt.Sprintf("%s/functions=%d/bare", kind, n), func(b *testing.B) {
			prog := nothing(b, ebpf.AttachTraceUprobeMulti)
			f, err := reader.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			opts := link.UprobeMultiOptions{}
			for fn, err := range f.Functions() {
				if err != nil {
					b.Fatal(err)
				}
				if strings.HasPrefix(fn.Symbols[0], "many_") {
					opts.Addresses = append(opts.Addresses, fn.Offset)
				}
			}
			for b.Loop() {
				ex, err := link.OpenExecutable(path)
				if err != nil {
					b.Fatal(err)
				}
				attach := ex.UprobeMulti
				if kind == "uretprobe" {
					attach = ex.UretprobeMulti
				}
				l, err := attach(nil, prog, &opts)
				if err != nil {
					giveUp(b, err)
				}
				l.Close()
			}
		})
		b.Run(fmt.Sprintf("%s/functions=%d/Open", kind, n), func(b *testing.B) {
			for b.Loop() {
				s, err := attach.Open(b.Context(), []string{kind + ":" + path + ":many_*"}, nil)
				if err != nil {
					needPrivileges(b, err)
					b.Fatal(err)
				}
				if got := s.Plan().Attached(); got != n {
					b.Fatalf("attached %d functions, want %d", got, n)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
