package provider_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// again returns a command that runs the calling test in a process of its own, which
// can be confined, and nil within that process.
func again(t *testing.T) *exec.Cmd {
	t.Helper()
	return tracee.Again(t, "-loader", *loader)
}

// loadConfined loads a provider in every way, with its files in dir, fires with and
// without a tracer watching, and closes it.
func loadConfined(t *testing.T, dir string) {
	t.Helper()
	for _, backing := range []provider.Backing{provider.BackingMemfd, provider.BackingFile} {
		opts := options()
		opts.Backing, opts.Dir, opts.EventsDir = backing, filepath.Join(dir, "objects"), filepath.Join(dir, "events")
		p := fresh("confined", opts)
		probe := provider.NewProbe3[uint64, string, []byte](p, "a", "id", "path", "body")
		fire := func() { probe.Fire(1, strings.Repeat("long enough for the heap ", 20), []byte("body")) }
		load(t, p)
		fire()
		provider.Watch(p, 1)
		if !probe.Enabled() {
			t.Errorf("backing %v: the probe is not loaded", backing)
		}
		fire()
		if err := p.Close(); err != nil {
			t.Errorf("backing %v: %v", backing, err)
		}
		fire()
	}
}

// TestUnderSeccomp checks that Load works under a filter that ends the process at any
// system call that is not listed, as services are confined. In particular, on old
// kernels Load makes no call that only new ones know.
func TestUnderSeccomp(t *testing.T) {
	if cmd := again(t); cmd != nil {
		tracee.Pass(t, cmd)
		return
	}
	dir := t.TempDir()
	allow(t, append(runtimeCalls, loadCalls...))
	loadConfined(t, dir)
}

// loadCalls are the system calls that Load and Close make. Fire makes none.
var loadCalls = []uint32{
	unix.SYS_UNAME, // for the fastest site; only from Linux 6.18 on, by a call that is exempt
	unix.SYS_MEMFD_CREATE, unix.SYS_WRITE, unix.SYS_FCNTL, unix.SYS_MMAP, unix.SYS_CLOSE,
	// For BackingFile and Options.EventsDir.
	unix.SYS_OPENAT, unix.SYS_READ, unix.SYS_MKDIRAT, unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_FSYNC, unix.SYS_FCHMOD,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_UNLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETEUID, unix.SYS_GETPID,
	// For the dynamic linker.
	unix.SYS_PREAD64, unix.SYS_MPROTECT,
}

// runtimeCalls are the system calls of the Go runtime, of package testing, and of a C
// library's threads, which the race detector needs.
var runtimeCalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_PIPE2, unix.SYS_READLINKAT,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_PRCTL,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_PRLIMIT64, unix.SYS_PREAD64, // of a cgroup's limit
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_TGKILL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// allow makes the kernel end this process at any system call that is not in calls.
// The signal lets the runtime report where.
func allow(t *testing.T, calls []uint32) {
	t.Helper()
	if err := confine(calls, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_TRAP); err != nil {
		t.Fatal(err)
	}
}

// confine makes the kernel do one thing at these system calls, in all threads, and another
// at all others.
func confine(calls []uint32, at, otherwise uint32) error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the call's number
	for _, nr := range calls {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jt: 0, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: at})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: otherwise})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

// TestMemfdNoexec checks that Load works where executable memory files are forbidden
// or must be requested: objects are mapped from files that are sealed against
// execution.
func TestMemfdNoexec(t *testing.T) {
	const setting, scopeVariable = "/proc/sys/vm/memfd_noexec", "PROVIDER_TEST_NOEXEC"
	cmd := again(t)
	if cmd == nil {
		scope := os.Getenv(scopeVariable)
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(setting, []byte(scope), 0); err != nil {
			t.Fatal(err)
		}
		// Check that the setting is in force.
		fd, err := unix.MemfdCreate("executable", unix.MFD_CLOEXEC|unix.MFD_EXEC)
		if scope == "2" && err != unix.EACCES {
			t.Errorf("memfd_create of an executable file returns %d, %v, want EACCES", fd, err)
		}
		if err == nil {
			unix.Close(fd)
		}
		loadConfined(t, t.TempDir())
		return
	}
	needs.Root(t) // to make a PID namespace
	if _, err := os.Stat(setting); err != nil {
		needs.Skip(t, "this kernel has no vm.memfd_noexec: %v", err)
	}
	for _, scope := range []string{"1", "2"} {
		cmd := again(t)
		cmd.Env = append(cmd.Env, scopeVariable+"="+scope)
		// The setting belongs to the PID namespace, and cannot be lowered.
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
		tracee.Pass(t, cmd)
	}
}

// TestWithoutProc checks that Load works where no /proc is mounted, as in a bare
// chroot. (The dynamic linker is given a path there.)
func TestWithoutProc(t *testing.T) {
	cmd := tracee.Again(t, "-loader", "map")
	if cmd == nil {
		if err := unix.Mount("empty", "/proc", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		loadConfined(t, t.TempDir())
		return
	}
	needs.Root(t) // to mount
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	tracee.Pass(t, cmd)
}

// TestRootDir checks where root's objects are: in /run, unless it is mounted noexec,
// as on Debian.
func TestRootDir(t *testing.T) {
	cmd := again(t)
	if cmd == nil {
		for _, dir := range []string{"/run", "/var/cache"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("empty", dir, "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
		}
		want := "/run/usdt"
		for _, flags := range []uintptr{0, unix.MS_NOEXEC} {
			if err := unix.Mount("empty", "/run", "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
				t.Fatal(err)
			}
			if err := stored(t, ""); err != nil {
				t.Error(err)
			}
			object(t, want)
			want = "/var/cache/usdt"
		}
		return
	}
	needs.Root(t) // to mount
	t.Setenv("XDG_RUNTIME_DIR", "")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	tracee.Pass(t, cmd)
}

// TestOtherPIDNamespace loads where the PIDs of this namespace name other processes
// in /proc, and checks that the dynamic linker is given no file of theirs.
func TestOtherPIDNamespace(t *testing.T) {
	cmd := again(t)
	if cmd == nil {
		p := newProvider("stranger")
		provider.NewProbe0(p, "a")
		defer p.Close()
		err := p.Load()
		if *loader == "map" && err != nil {
			t.Error(err)
		}
		if *loader == "dlopen" && (err == nil || !strings.Contains(err.Error(), "dlopen needs /proc of this process's PID namespace")) {
			t.Errorf("got %v, want it said what /proc lacks", err)
		}
		return
	}
	needs.Root(t) // to make a PID namespace
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	tracee.Pass(t, cmd)
}
