package link

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/sys"
)

// Refuses reports whether the kernel refuses the instruction with which code
// begins. It attaches to a copy that this process maps and never runs: the kernel
// checks an instruction only where it is mapped.
func Refuses(code []byte) bool {
	err := tryProbe(code)
	return errors.Is(err, enotsupp) || errors.Is(err, unix.ENOEXEC)
}

// trialOffset is where the code is.
const trialOffset = 16

// tryProbe attaches to code in memory of this process, and detaches again.
func tryProbe(code []byte) error {
	code = slices.Concat(make([]byte, trialOffset), code)
	file, err := sys.Memfd("uprobe-trial", code)
	if err != nil {
		return err
	}
	defer file.Close()
	mem, err := unix.Mmap(int(file.Fd()), 0, len(code), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("map code: %w", err)
	}
	defer unix.Munmap(mem)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, Instructions: kernel.EmptyProgram(), License: kernel.License,
	})
	if err != nil {
		return err
	}
	defer prog.Close()
	m := multi{
		path: fmt.Sprintf("/proc/self/fd/%d", file.Fd()), prog: prog,
		offsets: []uint64{trialOffset}, refCtrOffsets: []uint64{0}, cookies: []uint64{0},
	}
	fd, err := m.create()
	if err != nil {
		return err
	}
	return shield.Close(fd)
}
