package sys

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestReleaseAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"6.18.44-fc": true, "6.18": true, "6.19.0-rc1": true, "7.0.1": true, "10.1": true,
		"6.17.9": false, "6.1.0-42-amd64": false, "5.19": false, "": false, "six.18": false, "6": false, "6.": false, "6.x": false,
	} {
		if got := releaseAtLeast(release, 6, 18); got != want {
			t.Errorf("%q: got %v, want %v", release, got, want)
		}
	}
}

// TestOptimizationUnderSeccomp calls UprobeOptimization under a filter that kills the
// process for its system call. Kernels that know the call exempt it from filters, and
// others must not be asked: either way the process lives.
func TestOptimizationUnderSeccomp(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		out := tracee.Pass(t, cmd)
		if want := fmt.Sprintf("optimization %d\n", UprobeOptimization()); !strings.Contains(out, want) {
			t.Errorf("under seccomp: want %q in\n%s", want, out)
		}
		return
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uprobeSyscall, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		t.Fatal(errno)
	}
	fmt.Printf("optimization %d\n", UprobeOptimization())
}

// TestMemfdTooLarge checks the error for a file beyond the process's limit.
func TestMemfdTooLarge(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	if _, err := Memfd("large", make([]byte, 200)); err == nil || err.Error() != "write memfd:large: file too large" {
		t.Errorf("got %v, want what could not be written and why", err)
	}
}

// TestSpan checks that a span stays readable and is reused.
func TestSpan(t *testing.T) {
	page := uint64(os.Getpagesize())
	f, err := Memfd("span", bytes.Repeat([]byte{7}, int(2*page)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Reserve(2*page - 1)
	if err != nil {
		t.Fatal(err)
	}
	counter := s.Counter(page + 8)
	if *counter != 0 {
		t.Errorf("reserved: reads %#x, want 0", *counter)
	}
	if err := s.Map(f, page, page, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	if *counter != 0x07070707 {
		t.Errorf("mapped: reads %#x, want the file's bytes", *counter)
	}
	*counter++
	if err := s.Map(f, 2*page, page, unix.PROT_READ); err == nil {
		t.Error("mapped beyond the span")
	}
	address := s.Address(0)
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if *counter != 0 {
		t.Errorf("released: reads %#x, want 0", *counter)
	}
	again, err := Reserve(page)
	if err != nil {
		t.Fatal(err)
	}
	if again.Address(0) != address {
		t.Errorf("the released span at %#x is not used again, got %#x", address, again.Address(0))
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestMemfdIsSealed checks that a sealed file refuses every change.
func TestMemfdIsSealed(t *testing.T) {
	f, err := Memfd("sealed", []byte("contents"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Error("it can be written to")
	}
	if err := f.Truncate(1); err == nil {
		t.Error("it can be shrunk")
	}
	if err := f.Truncate(100); err == nil {
		t.Error("it can grow")
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, 0); err == nil {
		t.Error("its seals can be changed")
	}
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x (%v), want FD_CLOEXEC", flags, err)
	}
}
