package hostile_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"container": func(args []string) error { return container(args[0], args[1], args[2]) }})
	os.Exit(leftover.Run(m))
}

// container runs in a mount namespace of its own. It maps files that are wrong
// in every way, puts other things in their places, and runs exe there. victim is
// a file of the host in which it tries to get breakpoints.
func container(exe, dir, victim string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	good, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) error { return os.WriteFile(at(name), data, 0o755) }
	// Truncate files, and change single bytes, over the whole length.
	broken := []string{"fifo", "directory", "gone", "sparse", "parent\n\x1b[2J"}
	files := map[string][]byte{}
	for _, name := range broken {
		files[name] = good
	}
	for i := range 100 {
		files[fmt.Sprintf("cut%d", i)] = good[:max(64, len(good)*i/100)]
		changed := bytes.Clone(good)
		changed[len(good)*i/100] ^= 0xff
		files[fmt.Sprintf("changed%d", i)] = changed
	}
	for name, data := range files {
		if err := write(name, data); err != nil {
			return err
		}
		if err := mapFile(at(name), name == "sparse"); err != nil {
			return err
		}
	}
	for _, name := range broken {
		if name == "sparse" {
			continue
		}
		if err := os.Remove(at(name)); err != nil {
			return err
		}
	}
	// The kernel's paths of files that were removed end in " (deleted)".
	for _, suffix := range []string{"", " (deleted)"} {
		if err := unix.Mkfifo(at("fifo"+suffix), 0o777); err != nil {
			return err
		}
		if err := os.Mkdir(at("directory"+suffix), 0o777); err != nil {
			return err
		}
	}
	if err := links(at, good, victim); err != nil {
		return err
	}
	if err := write("hostile", good); err != nil {
		return err
	}
	child := exec.Command(at("hostile"))
	child.Stdin, child.Stderr = os.Stdin, os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Println(child.Process.Pid)
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return child.Wait()
		}
		fmt.Print(line)
	}
}

// links maps two files that have the inode number of victim, and makes their
// paths lead to it: by a link in place of a removed file, and by a link in a file
// system that is mounted over the other file's.
func links(at func(string) string, data []byte, victim string) error {
	var st unix.Stat_t
	if err := unix.Stat(victim, &st); err != nil {
		return err
	}
	for _, dir := range []string{"removed", "covered"} {
		if err := os.Mkdir(at(dir), 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", at(dir), "tmpfs", 0, ""); err != nil {
			return err
		}
		path := at(dir + "/link")
		if err := createInode(path, data, st.Ino); err != nil {
			return err
		}
		if err := mapFile(path, false); err != nil {
			return err
		}
	}
	if err := os.Remove(at("removed/link")); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", at("covered"), "tmpfs", 0, ""); err != nil {
		return err
	}
	return errors.Join(os.Symlink(victim, at("removed/link (deleted)")), os.Symlink(victim, at("covered/link")))
}

// createInode creates a file with a given inode number, in a tmpfs, which numbers
// its files in order.
func createInode(path string, data []byte, inode uint64) error {
	for {
		if err := os.WriteFile(path, data, 0o755); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil || st.Ino == inode {
			return err
		}
		if st.Ino > inode {
			return fmt.Errorf("%s has inode %d, want %d", path, st.Ino, inode)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
}

// hostFile copies exe into a file system of its own that the container can only
// read.
func hostFile(t *testing.T, exe string) (path string, dev uint64) {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "victim")
	// The number is not one of the first, so that the container can also
	// reach it.
	if err := createInode(path, data, 100); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return path, st.Dev
}

// mapFile maps a file for execution, for good. A sparse one is then made to
// reach over a terabyte, with section headers that say so.
func mapFile(path string, sparse bool) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE); err != nil {
		return err
	}
	if !sparse {
		return nil
	}
	// e_shoff of Elf64_Ehdr: the headers lie at the end, and are zeroes.
	if _, err := f.WriteAt([]byte{0, 0, 0, 0, 0x80, 0, 0, 0}, 40); err != nil {
		return err
	}
	return f.Truncate(1 << 40)
}

// TestContainer traces all of a hostile container, and checks that tracing ends
// in time, that valid probes are traced, and that nothing of the host is attached
// to.
func TestContainer(t *testing.T) {
	exe := hostile(t)
	victim, hostDev := hostFile(t, exe)
	cmd := tracee.Self("container", exe, t.TempDir(), victim)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	p := tracee.Start(t, cmd)
	var inside int
	if _, err := fmt.Sscan(p.Line(), &inside); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s, err := attach.Open(t.Context(), []string{"*:*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID(), inside}}, Strings: []string{"arg0"}, Rescan: time.Millisecond})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	live := 0
	linked := map[string]bool{}
	for _, site := range s.Plan() {
		if site.Attached && site.PID == inside {
			live++
		}
		if path := site.Probe.Path; site.Attached && (strings.HasSuffix(path, "removed/link") || strings.HasSuffix(path, "covered/link")) {
			linked[path] = true
		}
		var st unix.Stat_t
		if err := unix.Stat(site.Path, &st); err == nil && st.Dev == hostDev {
			t.Errorf("%q:%q is to be attached to in a file of the host, %q", site.Probe.Provider, site.Probe.Name, site.Path)
		}
	}
	if len(linked) != 2 {
		t.Errorf("sites in %v, want some in the files that links took the place of", linked)
	}
	const probes = 4
	if live != probes {
		t.Errorf("attached to %d probes of the program in the container, want %d", live, probes)
	}
	p.Do("")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	events := 0
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.PID != inside || !strings.HasSuffix(ev.Probe.Path, "/hostile") {
			t.Errorf("event of process %d, %s", ev.PID, ev.Probe.Path)
		}
		events++
	}
	if events != probes {
		t.Errorf("%d events, want %d", events, probes)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("tracing the container took %v", took)
	}
	sdtdump := needs.Build(t, "cmd/sdtdump")
	for _, args := range [][]string{{"-p", fmt.Sprint(p.PID())}, {"-p", fmt.Sprint(inside), "--json"}} {
		out, _ := exec.Command(sdtdump, args...).CombinedOutput() // it reports errors in files
		check(t, "output of sdtdump", string(out))
	}
}
