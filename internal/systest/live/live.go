// Package live looks at the memory of a traced process: at the site of a probe and its
// semaphore.
package live

import (
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// Probe returns a probe of a process.
func Probe(t testing.TB, pid int, name string) reader.Probe {
	t.Helper()
	proc, err := reader.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	for p, err := range proc.Probes() {
		if err == nil && p.Provider+":"+p.Name == name {
			return p
		}
	}
	t.Fatalf("process %d has no probe %s", pid, name)
	return reader.Probe{}
}

// Check compares the first byte at a site and its semaphore's value.
func Check(t testing.TB, pid int, name string, site byte, semaphore uint16) {
	t.Helper()
	p := Probe(t, pid, name)
	got, err := p.SemaphoreValue()
	if err != nil || got != semaphore {
		t.Errorf("semaphore of %s is %d (error %v), want %d", name, got, err, semaphore)
	}
	if runtime.GOARCH == "arm64" {
		// The first bytes of its nop, and of the brk that the kernel puts
		// there (UPROBES_BRK_IMM, arch/arm64/include/asm/brk-imm.h).
		site = map[byte]byte{0x90: 0x1f, 0xcc: 0xa0}[site]
	}
	var b [1]byte
	if err := procfs.ReadMemory(pid, p.Live.Address, b[:]); err != nil || b[0] != site {
		t.Errorf("site of %s holds %#x (error %v), want %#x", name, b[0], err, site)
	}
}
