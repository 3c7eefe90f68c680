package hostile_test

import (
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

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// stops is a file system that answers, or does not.
type stops struct {
	file   string // its only one
	server *os.Process
}

// newStops mounts a file system. No process may map its file: other tests would wait for it.
func newStops(t *testing.T) *stops {
	t.Helper()
	needs.Root(t)
	needs.Tools(t, "gcc")
	if _, err := os.Stat("/usr/include/fuse3/fuse.h"); err != nil {
		needs.Skip(t, "needs libfuse3-dev: %v", err)
	}
	program := filepath.Join(t.TempDir(), "stops")
	needs.Run(t, "gcc", "-o", program, "-D_FILE_OFFSET_BITS=64", "testdata/stops.c", "-lfuse3")
	mount := t.TempDir()
	cmd := exec.Command(program, "-f", "-o", "attr_timeout=0,entry_timeout=0,negative_timeout=0", mount)
	cmd.Env = append(os.Environ(), "FS_FILE=/proc/self/exe")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := &stops{filepath.Join(mount, "x"), cmd.Process}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(s.file); err == nil {
			return s
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// answer has the file system answer, or not.
func (s *stops) answer(t *testing.T, answers bool) {
	t.Helper()
	sig := map[bool]syscall.Signal{true: syscall.SIGCONT, false: syscall.SIGSTOP}[answers]
	if err := s.server.Signal(sig); err != nil {
		t.Fatal(err)
	}
	for !answers && !s.stopped(t) { // each of its threads stops when it runs next
		time.Sleep(time.Millisecond)
	}
}

// stopped reports whether all threads of the server have stopped.
func (s *stops) stopped(t *testing.T) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.server.Pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("the file system has ended: %v", err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil || !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return true
}

// TestSilent asks for a file of a file system that does not answer, in each way that there is,
// and again when it does.
func TestSilent(t *testing.T) {
	s := newStops(t)
	f, err := procfs.OpenFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		var b [4]byte
		_, err := f.ReadAt(b[:], 8192) // which nobody has read yet, so that it is in no cache
		return err
	}
	ways := map[string]func() error{
		"OpenFile": func() error {
			f, err := procfs.OpenFile(s.file)
			if err == nil {
				f.Close()
			}
			return err
		},
		"Stat":         func() error { _, err := procfs.Stat(s.file); return err },
		"EvalSymlinks": func() error { _, err := procfs.EvalSymlinks(s.file); return err },
		"ReadDir":      func() error { _, err := procfs.ReadDir(filepath.Dir(s.file)); return err },
		"ReadAt":       read,
	}
	s.answer(t, false)
	for name, ask := range ways {
		if err := ask(); !errors.Is(err, procfs.ErrSilent) {
			t.Errorf("%s: %v, want %v", name, err, procfs.ErrSilent)
		}
	}
	begun := time.Now()
	for range 1000 {
		ways["Stat"]()
	}
	if took := time.Since(begun); took > 2*time.Minute {
		t.Errorf("1000 questions to who is known not to answer took %v", took)
	}
	if got := procfs.Silent(); len(got) != 1 {
		t.Errorf("%q are silent, want one path", got)
	}
	s.answer(t, true)
	for name, ask := range ways {
		if name == "ReadDir" { // which this file system does not have
			continue
		}
		var err error
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if err = ask(); !errors.Is(err, procfs.ErrSilent) {
				break
			}
		}
		if err != nil {
			t.Errorf("%s, when the file system answers again: %v", name, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestSilentCommands names a file that does not answer to each command: it ends, and says which
// it is.
func TestSilentCommands(t *testing.T) {
	s := newStops(t)
	sdtdump, sdttrace := needs.Build(t, "cmd/sdtdump"), needs.Build(t, "cmd/sdttrace")
	for _, command := range [][]string{
		{sdtdump, s.file},
		{sdttrace, s.file + ":p:n"},
		{sdttrace, "count", filepath.Dir(s.file) + "/x*:p:n"},
		{sdttrace, "--exe", s.file, "p:n"},
		{sdttrace, "uprobe:" + s.file + ":main"},
		{sdttrace, "list", s.file + ":p:n"},
	} {
		s.answer(t, false)
		var out bytes.Buffer
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.WaitDelay = 30 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killed := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		if !killed.Stop() || err == nil {
			t.Errorf("%q: %v: %s", command[1:], err, &out)
		}
		if !strings.Contains(out.String(), s.file) && !strings.Contains(out.String(), filepath.Dir(s.file)) || !strings.Contains(out.String(), procfs.ErrSilent.Error()) {
			t.Errorf("%q does not say who does not answer: %s", command[1:], &out)
		}
		s.answer(t, true)
	}
}

// TestSilentRecording interrupts who reads a recording from a file system that does not answer.
func TestSilentRecording(t *testing.T) {
	s := newStops(t)
	sdttrace := needs.Build(t, "cmd/sdttrace")
	recording, err := filepath.Abs("../../../cmd/sdttrace/testdata/version1/version1.usdt")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--from", s.file}, {"count", "--from", filepath.Dir(s.file)}, {"profile", "--diff", s.file, recording}} {
		s.answer(t, false)
		var out bytes.Buffer
		cmd := exec.Command(sdttrace, args...)
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for deadline := time.Now().Add(time.Minute); !inFUSE(cmd.Process.Pid) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		}
		cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if !strings.Contains(out.String(), "does not answer") {
				t.Errorf("%q: %v: %s", args, err, &out)
			}
		case <-time.After(2 * time.Minute): // sdttrace may take one if it seems to work
			t.Errorf("%q does not end by a signal", args)
			cmd.Process.Kill()
			<-ended
		}
		s.answer(t, true)
	}
}

// inFUSE reports whether a thread of a process waits for a file system of a program.
func inFUSE(pid int) bool {
	stacks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", pid))
	for _, path := range stacks {
		if stack, _ := os.ReadFile(path); bytes.Contains(stack, []byte("request_wait_answer")) { // a thread may have ended
			return true
		}
	}
	return false
}
