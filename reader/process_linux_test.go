package reader_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// mapped maps the object in fd into this process as a loader does, text and
// semaphores, and returns the addresses of both.
func mapped(t *testing.T, fd int, o *object) (text, probes uint64) {
	t.Helper()
	m := func(off uint64, prot int) uint64 {
		b, err := unix.Mmap(fd, int64(off&^0xfff), 4096, prot, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Munmap(b) })
		return addressOf(b) + off&0xfff
	}
	return m(o.text.Offset, unix.PROT_READ|unix.PROT_EXEC), m(o.probes.Offset, unix.PROT_READ|unix.PROT_WRITE)
}

// file writes o to a file of its own and opens it.
func file(t *testing.T, o *object) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "o.so")
	if err := os.WriteFile(path, o.build(t), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// mine returns the probes of this process that have the tests' provider.
func mine(t *testing.T) []reader.Probe {
	t.Helper()
	p, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var out []reader.Probe
	for probe, err := range p.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if probe.Provider == "p" {
			out = append(out, probe)
		}
	}
	return out
}

func TestMemfd(t *testing.T) {
	o := &object{notes: one}
	data := o.build(t)
	fd, err := unix.MemfdCreate("reader test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, data); err != nil {
		t.Fatal(err)
	}
	text, probes := mapped(t, fd, o)
	*semaphoreAt(probes + 2) = 3

	got := mine(t)
	if len(got) != 1 {
		t.Fatalf("got %d probes, want 1", len(got))
	}
	p := got[0]
	if p.Path != "/memfd:reader test" || !strings.HasPrefix(p.OpenPath, "/proc/"+strconv.Itoa(os.Getpid())+"/") {
		t.Errorf("got path %q, open path %q", p.Path, p.OpenPath)
	}
	if b, err := os.ReadFile(p.Attachable()); err != nil || !bytes.Equal(b, data) {
		t.Errorf("%s does not lead to the object: %v", p.Attachable(), err)
	}
	if p.Live.Address != text+4 || p.Live.SemaphoreAddress != probes+2 {
		t.Errorf("got %#x and semaphore %#x, want %#x and %#x", p.Live.Address, p.Live.SemaphoreAddress, text+4, probes+2)
	}
	if v, err := p.SemaphoreValue(); err != nil || v != 3 {
		t.Errorf("got semaphore %d, %v, want 3", v, err)
	}
}

func TestDeletedAndReplaced(t *testing.T) {
	o := &object{notes: one}
	f := file(t, o)
	path := f.Name()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mapped(t, int(f.Fd()), o)
	if got := mine(t); len(got) != 1 || got[0].Path != path || got[0].OpenPath != "" {
		t.Fatalf("got %+v, want one probe at %s", got, path)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("another file"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := mine(t)
	if len(got) != 1 || got[0].Path != path || got[0].OpenPath == "" {
		t.Fatalf("got %+v, want one probe of %s with a path to open it", got, path)
	}
	if b, err := os.ReadFile(got[0].Attachable()); err != nil || !bytes.Equal(b, data) {
		t.Errorf("%s does not lead to the object: %v", got[0].Attachable(), err)
	}
}

func TestMappedTwice(t *testing.T) {
	o := &object{notes: one}
	f := file(t, o)
	want := map[uint64]bool{}
	for range 2 {
		text, _ := mapped(t, int(f.Fd()), o)
		want[text+4] = true
	}
	for _, p := range mine(t) {
		if !want[p.Live.Address] {
			t.Errorf("got address %#x, want one of %v", p.Live.Address, want)
		}
		delete(want, p.Live.Address)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

func TestDeadProcess(t *testing.T) {
	program := tracee.StartVictim(t, tracee.Self("idle"))
	pid := program.PID()
	p, err := reader.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	program.Signal(os.Kill)
	// Wait until the process has ended, but leave it as a zombie.
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.OpenProcess(pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("zombie: got %v, want os.ErrNotExist", err)
	}
	for range p.Probes() {
		break // an error or not, but no panic
	}
	program.End()
	if _, err := reader.OpenProcess(pid); !errors.Is(err, os.ErrNotExist) || err.Error() != "process "+strconv.Itoa(pid)+" does not exist" {
		t.Errorf("got %v", err)
	}
	dead := reader.Probe{Note: notes.Note{Provider: "p", Name: "a"}, Live: &reader.Live{PID: pid, SemaphoreAddress: 0x1000}}
	if _, err := dead.SemaphoreValue(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("semaphore: got %v, want os.ErrNotExist", err)
	}
}

// TestUnprivileged reads a process as its own user without any capability.
func TestUnprivileged(t *testing.T) {
	cmd := tracee.Again(t)
	if cmd == nil {
		t.Run("memfd", TestMemfd)
		t.Run("deleted", TestDeletedAndReplaced)
		return
	}
	needs.Root(t) // to become another user
	// That user must be able to open the test's binary and directories.
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "reader")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(filepath.Join(dir, "test"), exe, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Dir = filepath.Join(dir, "test"), dir
	cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	tracee.Pass(t, cmd)
}

// waiting returns the probe of testdata/waits.c in a process.
func waiting(t *testing.T, pid int) (found reader.Probe) {
	t.Helper()
	p, err := reader.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for probe, err := range p.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if probe.Name == "waiting" {
			return probe
		}
	}
	t.Fatalf("process %d has no probe waiting", pid)
	return found
}

// TestContainer reads a process with file systems of its own, in which its library
// has a path that is another file for everybody else.
func TestContainer(t *testing.T) {
	needs.C(t)
	dir := t.TempDir()
	prog, inside := filepath.Join(dir, "prog"), filepath.Join(dir, "inside")
	needs.Run(t, "gcc", "-O1", "-o", prog, "testdata/waits.c")
	_, pid := tracee.StartContainer(t, prog, filepath.Join(inside, "prog"))
	probe := waiting(t, pid)
	if want := filepath.Join(inside, "prog"); probe.Path != want || probe.OpenPath != fmt.Sprintf("/proc/%d/root%s", pid, want) {
		t.Errorf("got path %s, open path %s", probe.Path, probe.OpenPath)
	}
	if s, err := probe.Site(); err != nil || s.State != reader.CleanSite {
		t.Errorf("got state %v, %v, want clean", s.State, err)
	}
}

// TestRoot reads a process that has a directory as its root. Maps have paths from the
// root of their reader, by which the process's files can be opened.
func TestRoot(t *testing.T) {
	needs.C(t)
	needs.Root(t)
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	needs.Run(t, "gcc", "-O1", "-static", "-o", prog, "testdata/waits.c")
	cmd := exec.Command("/prog")
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Chroot: dir}, "/"
	traced := tracee.Start(t, cmd).Ready()
	if probe := waiting(t, traced.PID()); probe.Path != prog || probe.OpenPath != "" {
		t.Errorf("got path %s, open path %s, want %s", probe.Path, probe.OpenPath, prog)
	}
}

// TestProcessStart opens processes as soon as they have started, when the kernel may
// not have mapped their programs yet.
func TestProcessStart(t *testing.T) {
	needs.Tools(t, "sleep")
	path, err := exec.LookPath("sleep")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		cmd := exec.Command(path, "60")
		cmd.Args[0] = "sleep" // also for busybox
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := reader.OpenProcess(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		var mapped []string
		for range p.Functions(func(path string) bool { mapped = append(mapped, path); return false }) {
		}
		p.Close()
		cmd.Process.Kill()
		cmd.Wait()
		if !slices.Contains(mapped, path) {
			t.Fatalf("a process of %s has mapped %q", path, mapped)
		}
	}
}

// TestSiteState checks the state of sites that follow each other without a gap: a
// breakpoint counts for its own site only.
func TestSiteState(t *testing.T) {
	o := &object{notes: func(o *object) []notes.Note {
		return []notes.Note{
			o.site("nop", 0, 0, ""), o.site("watched", 1, 0, ""), o.site("clean", 2, 0, ""),
			o.site("optimised", 16, 0, ""), o.site("behind", 17, 0, ""),
		}
	}}
	data := o.build(t)
	text := data[o.text.Offset:]
	copy(text, "\x90\x90\x90\xc3")
	copy(text[16:], "\x90\x0f\x1f\x44\x00\x00\xc3")
	path := filepath.Join(t.TempDir(), "o.so")
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, _ := mapped(t, int(f.Fd()), o)
	page := memoryAt(at&^0xfff, 4096)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC); err != nil {
		t.Fatal(err)
	}
	// The instructions that the kernel puts there for uprobes.
	for off, code := range map[uint64]string{1: "\xcc", 17: "\xe8\x00\x00\x00\x00"} {
		copy(page[at&0xfff+off:], code)
	}
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Fatal(err)
	}
	got := map[string]reader.SiteState{}
	p, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for probe, err := range p.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if probe.Path != path {
			continue
		}
		site, err := probe.Site()
		if err != nil {
			t.Fatal(err)
		}
		got[probe.Name] = site.State
	}
	want := map[string]reader.SiteState{
		"nop": reader.CleanSite, "watched": reader.Int3Site, "clean": reader.CleanSite,
		"optimised": reader.CallSite, "behind": reader.CallSite,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestProcessInstructions makes probes of instructions by their addresses in files.
func TestProcessInstructions(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var entry uint64
	for fn, err := range f.Functions() {
		if err == nil && fn.Symbols[0] == "main.main" {
			entry = fn.Address
		}
	}
	found := 0
	for probe, err := range p.Instructions(func(of string) []uint64 {
		if of == path {
			return []uint64{entry}
		}
		return nil
	}) {
		found++
		if err != nil || probe.SiteErr != nil || probe.Location != entry || probe.Live == nil || probe.Live.PID != os.Getpid() {
			t.Errorf("got %+v, %v", probe, err)
		}
	}
	if found != 1 {
		t.Errorf("%d probes at %#x, want one", found, entry)
	}
}
