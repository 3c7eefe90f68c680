package attach_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestKernelArguments reads arguments of functions of the kernel that are hard to read, at entries and where trampolines
// keep them: on the stack, behind a structure in registers, pointers to functions, and names of numbers. One that
// cannot be read says so.
func TestKernelArguments(t *testing.T) {
	needs.Kprobes(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	kinds := []string{"kprobe"}
	if trampolines(t) {
		kinds = append(kinds, "fentry", "fexit")
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(sock)
	inKernel := func(v any) bool { n, ok := v.(uint64); return ok && n>>63 == 1 }
	for _, c := range []struct {
		function, where string
		call            func() error
		right           func(args map[string]any) bool
		unread          map[string]string // why
	}{
		{"do_mmap", "len == 8192 && pgoff == 3", func() error {
			m, err := unix.Mmap(int(exe.Fd()), 3*int64(os.Getpagesize()), 8192, unix.PROT_READ, unix.MAP_PRIVATE)
			if err == nil {
				err = unix.Munmap(m)
			}
			return err
		}, func(args map[string]any) bool { // the last two are on the stack
			return args["prot"] == uint64(unix.PROT_READ) && args["flags"] == uint64(unix.MAP_PRIVATE) && inKernel(args["populate"]) && inKernel(args["uf"])
		}, nil},
		{"tcp_setsockopt", "optlen == 4 && optname == 1", func() error {
			return unix.SetsockoptInt(sock, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		}, func(args map[string]any) bool {
			return args["level"] == int64(unix.IPPROTO_TCP) && inKernel(args["sk"])
		}, map[string]string{"optval": "a sockptr_t is no number of up to 8 bytes"}},
		{"single_open", "show != 0", func() error {
			f, err := os.Open("/proc/self/status")
			if err == nil {
				err = f.Close()
			}
			return err
		}, func(args map[string]any) bool { return inKernel(args["show"]) && inKernel(args["data"]) }, nil},
		{"__task_pid_nr_ns", `type == "PIDTYPE_TGID"`, func() error { _, err := os.Readlink("/proc/self"); return err }, func(args map[string]any) bool {
			return inKernel(args["task"]) && fmt.Sprint(args["type"]) == "1"
		}, nil},
	} {
		for _, kind := range kinds {
			t.Run(kind+":"+c.function, func(t *testing.T) {
				s, err := attach.Open(t.Context(), []string{kind + ":" + c.function}, functionsOf(os.Getpid(), c.where))
				if err != nil {
					needPrivileges(t, err)
					if c.function == "do_mmap" && kind != "kprobe" && strings.Contains(err.Error(), "or that many arguments") {
						return // it has more than fit into registers, which trampolines of later kernels take on amd64
					}
					t.Fatal(err)
				}
				defer s.Close()
				if err := c.call(); err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, ev := range drain(t, s) {
					n++
					args := map[string]any{}
					for _, a := range ev.Args {
						args[a.Name] = a.Value
						if why := c.unread[a.Name]; a.Err != nil && (why == "" || !strings.Contains(a.Err.Error(), why)) {
							t.Errorf("%s: %v", a.Name, a.Err)
						}
					}
					if !c.right(args) {
						t.Errorf("arguments %v", args)
					}
				}
				if n == 0 {
					t.Error("no event")
				}
			})
		}
	}
	for selector, where := range map[string]string{"kretprobe:fd_install": "retval > 1", "fexit:fd_install": "retval > 1"} {
		if strings.HasPrefix(selector, "fexit") && len(kinds) == 1 {
			continue
		}
		if s, err := attach.Open(t.Context(), []string{selector}, functionsOf(os.Getpid(), where)); err == nil || !strings.Contains(err.Error(), "it returns nothing") {
			t.Errorf("%s: session %v, error %v, want that the function returns nothing", selector, s, err)
		}
	}
}
