package attach_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

func init() {
	// fallocating calls fallocate of a file of its own, in one thread: "N SIZE" N times, for SIZE bytes
	// behind the byte 4096 × the number of the call.
	roles["fallocating"] = func([]string) error {
		runtime.LockOSThread()
		f, err := os.CreateTemp("", "fallocate")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var n, size int64
			if _, err := fmt.Sscan(in.Text(), &n, &size); err != nil {
				return err
			}
			for i := range n {
				unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 4096*i, size) // some file systems refuse it
			}
			fmt.Println("done")
		}
		return nil
	}
}

// functionsOf returns options that trace a process alone.
func functionsOf(pid int, where string) *attach.Options {
	return &attach.Options{Target: attach.Target{PIDs: []int{pid}}, Where: where}
}

// TestKernelFunctions counts calls of a function of the kernel that a program makes, and reads their
// arguments and results by name. Another process makes such calls as well.
func TestKernelFunctions(t *testing.T) {
	needs.Kprobes(t)
	p, other := startChild(t, "fallocating"), startChild(t, "fallocating")
	counts, err := attach.OpenAggregate(t.Context(), []string{"kprobe:vfs_fallocate"}, attach.Count().By("func", "module", "len"), functionsOf(p.PID(), "offset >= 4096"))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer counts.Close()
	s, err := attach.Open(t.Context(), []string{"kprobe:vmlinux:vfs_fallocat?", "kretprobe:vfs_fallocate"}, functionsOf(p.PID(), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const calls = 25
	other.Do("7 4096")
	p.Do(fmt.Sprint(calls, " 8192"))
	other.Do("7 4096")
	groups, err := counts.Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 1 || groups[0].Count != calls-1 || fmt.Sprintf("%v %v %v", groups[0].By[0].Value, groups[0].By[1].Value, groups[0].By[2].Value) != "vfs_fallocate vmlinux 8192" {
		t.Errorf("groups %+v, want %d calls of vfs_fallocate for 8192 bytes", groups, calls-1)
	}
	entries, returns := 0, 0
	for _, ev := range drain(t, s) {
		args := map[string]any{}
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Errorf("%s: %v", a.Name, a.Err)
			}
			args[a.Name] = a.Value
		}
		if ev.PID != p.PID() || ev.Provider != "vmlinux" || ev.Name != "vfs_fallocate" {
			t.Errorf("event %+v of process %d, want one of %d", ev, ev.PID, p.PID())
		}
		if ev.Probe.Kind.String() == "kretprobe" {
			if v, ok := args["retval"].(int64); !ok || v > 0 || len(args) != 1 {
				t.Errorf("result %v", args)
			}
			returns++
			continue
		}
		if args["mode"] != int64(unix.FALLOC_FL_KEEP_SIZE) || args["offset"] != int64(4096*entries) || args["len"] != int64(8192) || args["file"].(uint64)>>63 == 0 {
			t.Errorf("call %d has %v", entries, args)
		}
		entries++
	}
	if entries != calls || returns != calls {
		t.Errorf("%d entries and %d returns, want %d", entries, returns, calls)
	}
	st := checkSum(t, s)
	if st.Fired != 2*calls || st.Received != 2*calls || st.Lost+st.Missed+st.Filtered != 0 {
		t.Errorf("stats %+v", st)
	}
	for i, site := range s.Plan() {
		if !site.Attached {
			t.Errorf("site %d: %v", i, site.Reason)
		}
	}
}

// TestKernelLatency matches entries and returns of a function of the kernel, and a function of the
// program with one of the kernel, in one thread.
func TestKernelLatency(t *testing.T) {
	needs.Kprobes(t)
	p := startChild(t, "fallocating")
	l, err := attach.OpenLatency(t.Context(), "kprobe:vfs_fallocate", "kretprobe:vfs_fallocate", &attach.LatencyOptions{By: []string{"len"}}, functionsOf(p.PID(), ""))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer l.Close()
	spans, err := attach.OpenLatency(t.Context(), "kprobe:vfs_fallocate", "kretprobe:*_sys_fallocate", nil, functionsOf(p.PID(), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer spans.Close()
	const calls = 40
	p.Do(fmt.Sprint(calls, " 4096"))
	for name, l := range map[string]*attach.Latency{"calls": l, "spans": spans} {
		pairs, err := l.Pairs()
		if err != nil || pairs.Pairs != calls || pairs.Pending != 0 || pairs.Unstarted != 0 {
			t.Errorf("%s: %+v, error %v; want %d pairs", name, pairs, err, calls)
		}
	}
	groups, err := l.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != calls || groups[0].By[0].Value != int64(4096) {
		t.Errorf("groups %+v, error %v", groups, err)
	}
}

// TestKernelRefused checks what is said of functions of the kernel that cannot be traced, and that others
// are attached to beside them.
func TestKernelRefused(t *testing.T) {
	needs.Kprobes(t)
	open := func(o *attach.Options, selectors ...string) (*attach.Session, error) {
		s, err := attach.Open(t.Context(), selectors, o)
		if err == nil {
			t.Cleanup(func() { s.Close() })
		}
		return s, err
	}
	own := functionsOf(os.Getpid(), "")
	_, err := open(own, "kprobe:vfs_fallocate")
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	for _, c := range []struct{ selector, where, want string }{
		{"kprobe:vfs_falocate", "", "no probe matches kprobe:vfs_falocate in the kernel, but kprobe:vfs_fallocate would"},
		{"kprobe:ext9:vfs_fallocate", "", "but kprobe:vmlinux:vfs_fallocate@0x"},
		{"kprobe:vfs_fallocate@0x10", "", "but kprobe:vmlinux:vfs_fallocate@0x"},
		{"kprobe:hrtimer_*", "", "name such a function exactly"},
		{"kprobe:vfs_fallocate", "size > 1", "vfs_fallocate has no argument size: it has file, mode, offset, len"},
		{"kretprobe:vfs_fallocate", "len > 1", "its arguments are gone"},
		{"kprobe:vfs_fallocate", "retval > 1", "it has no result at its entry"},
	} {
		_, err := open(functionsOf(os.Getpid(), c.where), c.selector)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %q", c.selector, c.where, err, c.want)
		}
	}
	if attach.KprobesAlone(t) {
		_, err := open(own, "kprobe:tcp_*")
		if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != "Force" || !strings.Contains(err.Error(), "perf events, instead of kprobe_multi links, are attached one after the other") {
			t.Errorf("kprobe:tcp_*: error %v, want an OptionError for Force", err)
		}
	}
	_, err = open(own, "kprobe:*")
	if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != "Force" {
		t.Errorf("kprobe:*: error %v, want an OptionError for Force", err)
	}
}

// TestKernelMembers reads what is behind pointers that a function of the kernel gets, and compares
// it with the file that the program has open.
func TestKernelMembers(t *testing.T) {
	needs.Kprobes(t)
	p := startChild(t, "fallocating")
	p.Do("0 0") // it has opened its file
	var st unix.Stat_t
	var name string
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID()))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(filepath.Base(to), "fallocate") {
			if err := unix.Stat(link, &st); err != nil {
				t.Fatal(err)
			}
			name = filepath.Base(to)
		}
	}
	const inode, file, device = "file.f_inode.i_ino", "file.f_path.dentry.d_name.name", "file.f_inode.i_sb.s_dev"
	opts := functionsOf(p.PID(), "")
	opts.Follow = []string{file, device, "kprobe:vmlinux:vfs_fallocate:file.f_inode.i_sb.s_type.name", "file.f_inode.i_sb.s_id"}
	s, err := attach.Open(t.Context(), []string{"kprobe:vfs_fallocate", "kretprobe:vfs_fallocate"}, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	groups, err := attach.OpenAggregate(t.Context(), []string{"kprobe:vfs_fallocate"}, attach.Count().By(file, inode),
		functionsOf(p.PID(), fmt.Sprintf("%s == %d && file.f_inode.i_sb.s_id != \"\"", inode, st.Ino)))
	if err != nil {
		t.Fatal(err)
	}
	defer groups.Close()
	p.Do("3 4096")
	by, err := groups.Read()
	if err != nil || len(by) != 1 || by[0].Count != 3 || by[0].By[0].Value != name || by[0].By[1].Value != uint64(st.Ino) {
		t.Errorf("groups %+v, error %v, want 3 calls for %s, inode %d", by, err, name, st.Ino)
	}
	n := 0
	for _, ev := range drain(t, s) {
		if ev.Probe.Kind.String() == "kretprobe" {
			continue
		}
		n++
		args := map[string]any{}
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Errorf("%s: %v", a.Name, a.Err)
			}
			args[a.Name] = a.Value
		}
		number := uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev)) // as the kernel numbers it within itself
		typ, _ := args["file.f_inode.i_sb.s_type.name"].(string)
		if args[file] != name || args[device] != number || len(args) != 8 || typ == "" || !strings.HasPrefix(args["file.f_inode.i_sb.s_id"].(string), typ[:2]) && typ != "ext4" {
			t.Errorf("arguments %v, want %s of device %#x", args, name, number)
		}
	}
	if n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	for follow, want := range map[string]string{
		"file.f_inod.i_ino": `Follow: "file.f_inod.i_ino": file has no member f_inod; the nearest is f_inode`,
		"fil.f_inode":       `it has no such argument; the nearest is file`,
		"file.*":            "is named in full",
	} {
		opts := functionsOf(p.PID(), "")
		opts.Follow = []string{follow}
		s, err := attach.Open(t.Context(), []string{"kprobe:vfs_fallocate"}, opts)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Follow %s: error %v, want %q", follow, err, want)
		}
	}
}

// TestKernelBitFields reads and compares bit fields of a structure in the kernel: what a socket's options say.
func TestKernelBitFields(t *testing.T) {
	needs.Kprobes(t)
	const reuse, port = "sock.sk.__sk_common.skc_reuse", "sock.sk.__sk_common.skc_reuseport"
	own := functionsOf(os.Getpid(), port+" == 1")
	own.Follow = []string{reuse, port}
	s, err := attach.Open(t.Context(), []string{"kprobe:inet_listen"}, own)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 4 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		for option, on := range map[int]int{unix.SO_REUSEADDR: i & 1, unix.SO_REUSEPORT: i >> 1} {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, on); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Listen(fd, 1); err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
	}
	var got []string
	for _, ev := range drain(t, s) {
		text := ""
		for _, name := range []string{reuse, port} {
			for _, a := range ev.Args {
				if a.Name == name {
					text += fmt.Sprint(a.Value, a.Err, " ")
				}
			}
		}
		got = append(got, text)
	}
	if want := []string{"0 <nil> 1 <nil> ", "1 <nil> 1 <nil> "}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
