package procfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadMemory fills buf with the memory of process pid at addr.
func ReadMemory(pid int, addr uint64, buf []byte) error {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}, 0)
	switch {
	case err == nil && n == len(buf):
		return nil
	case errors.Is(err, unix.ESRCH):
		return Error(pid, err)
	}
	// /proc/PID/mem also reads memory that the process itself may not read, and
	// exists where process_vm_readv is filtered.
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return Error(pid, err)
	}
	defer f.Close()
	// Addresses with the top bit set belong to the kernel, not to a process.
	if int64(addr) < 0 {
		return fmt.Errorf("read memory of process %d at %#x: %w", pid, addr, syscall.EFAULT)
	}
	if _, err := f.ReadAt(buf, int64(addr)); err != nil {
		if err == io.EOF { // the process has no memory any more
			return Error(pid, syscall.ESRCH)
		}
		return fmt.Errorf("read memory of process %d at %#x: %w", pid, addr, errors.Unwrap(err))
	}
	return nil
}
