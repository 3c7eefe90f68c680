package peers

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/reader"
)

// attachEmpty attaches a BPF program that does nothing to a probe of this process,
// until the benchmark ends.
func attachEmpty(b *testing.B, provider, name string) {
	b.Helper()
	process, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	defer process.Close()
	for p, err := range process.Probes() {
		if err != nil {
			b.Fatal(err)
		}
		if p.Provider != provider || p.Name != name {
			continue
		}
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
		})
		if err != nil {
			b.Skipf("needs root, or CAP_BPF and CAP_PERFMON, and Linux 6.6: %v", err)
		}
		b.Cleanup(func() { program.Close() })
		file, err := link.OpenExecutable(p.OpenPath)
		if err != nil {
			b.Fatal(err)
		}
		l, err := file.UprobeMulti(nil, program, &link.UprobeMultiOptions{
			Addresses: []uint64{p.Offset}, RefCtrOffsets: []uint64{p.SemaphoreOffset}, PID: uint32(os.Getpid()),
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { l.Close() })
		return
	}
	b.Fatalf("no probe %s:%s", provider, name)
}
