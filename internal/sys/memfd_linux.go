package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memfd returns a memory file with this name and contents. It is sealed: nobody can
// write, shrink or grow it any more. /proc/PID/maps shows the name as /memfd:NAME;
// the kernel allows 249 bytes.
func Memfd(name string, contents []byte) (*os.File, error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	// MFD_NOEXEC_SEAL removes the x bits from the file's mode, which forbids execve
	// but not PROT_EXEC mappings. Kernels before 6.3 do not know it; later ones may
	// require it (sysctl vm.memfd_noexec = 2).
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:"+name)
	if _, err := f.Write(contents); err != nil {
		f.Close()
		return nil, err
	}
	seals := unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, errorf("seal memfd:%s: %w", name, err)
	}
	return f, nil
}

// Failed is os.NewSyscallError: nil for nil, as that. Inlining it has the same cost as that
// of errorf.
//
//go:noinline
func Failed(call string, err error) error { return os.NewSyscallError(call, err) }

// errorf is fmt.Errorf. Inlining that into each of its callers would add half a kB to
// each service that declares probes.
//
//go:noinline
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
