package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestUntold stops sdttrace while more is mapped on each CPU than the kernel has room to tell,
// and a process begins, fires and ends. sdttrace says that the process's stack may have no names.
func TestUntold(t *testing.T) {
	source := filepath.Join(t.TempDir(), "untold.c")
	if err := os.WriteFile(source, []byte("#include <sys/sdt.h>\nint main(void)\n{\n\tDTRACE_PROBE(untold, hit);\n\treturn 0;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := needs.Compile(t, source, "gcc", "-O1")
	dir := commands(t, "sdttrace")
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "--stack", path+":untold:hit")
	var stdout, stderr tracee.Output
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.AwaitTrying(t, "Ctrl-C ends", func() { skipRefused(t, &stderr) })
	cmd.Process.Signal(unix.SIGSTOP)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err == nil && strings.Contains(string(stat), ") T ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not stop: %s, %v", stat, err)
		}
	}
	filled := make(chan error)
	go func() { filled <- fillRings() }()
	if err := <-filled; err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd.Process.Signal(unix.SIGCONT)
	stdout.Await(t, "untold:hit")
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	want := regexp.MustCompile(`(?m)^sdttrace: [1-9][0-9]* times the kernel dropped what a process mapped: stacks of 1 that had ended may have wrong names or none\n` +
		`sdttrace: 1 event, 0 lost, 0 filtered; attached 1 of 1 site$`)
	if said := stderr.String(); !want.MatchString(said) {
		t.Errorf("it says %s, want %s", said, want)
	}
}

// fillRings maps code on each CPU, more often than fits into a ring of 16 pages. Its thread ends
// with the goroutine.
func fillRings() error {
	runtime.LockOSThread()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for cpu := range 1 << 10 {
		if !all.IsSet(cpu) {
			continue
		}
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return err
		}
		for range 16 * os.Getpagesize() / 80 {
			b, err := unix.Mmap(int(self.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
			if err != nil {
				return err
			}
			if err := unix.Munmap(b); err != nil {
				return err
			}
		}
	}
	return nil
}
