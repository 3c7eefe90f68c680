package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// capless runs the command in its arguments as root of a container: without the
// capabilities that tracing takes.
func capless() {
	runtime.LockOSThread()
	for _, c := range []uintptr{unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_BPF, unix.CAP_PERFMON} {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
	os.Exit(1)
}

// TestCaplessRoot checks that root without all of its capabilities is told which
// are missing, and not to become root.
func TestCaplessRoot(t *testing.T) {
	needs.Root(t)
	_, nobody := asNobody(t)
	traced := tracee.StartVictim(t, nobody("traced", "-")).Ready()
	links := commands(t, "sdttrace", "capless")
	own := fmt.Sprint(os.Getpid())
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"nobody_has_this:*"}, []string{"no probe matches", "process ", "CAP_SYS_PTRACE"}},
		{[]string{"-p", fmt.Sprint(traced.PID()), "hello:*"}, []string{fmt.Sprintf("process %d: ", traced.PID()), "lacks CAP_SYS_PTRACE"}},
		{[]string{"-p", own, "uprobe:*:main.main"}, []string{"process " + own, "CAP_SYS_PTRACE"}}, // it has capabilities
		{[]string{filepath.Join(links, "sdttrace") + ":*:*", "--", "true"}, []string{"lacks CAP_BPF and CAP_PERFMON"}},
		{[]string{"list", "nobody_has_this:*"}, []string{"could not be read", "process ", "CAP_SYS_PTRACE"}},
	} {
		cmd := exec.Command(filepath.Join(links, "capless"), append([]string{filepath.Join(links, "sdttrace")}, test.args...)...)
		out, _ := cmd.CombinedOutput()
		said := string(out)
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || strings.Contains(said, "sudo") || strings.Contains(said, "run as") {
			t.Errorf("%q: exit code %d, want %d and no advice to become root: %s", test.args, code, exitFailed, said)
		}
		for _, want := range test.want {
			if !strings.Contains(said, want) {
				t.Errorf("%q: got %q, want %q in it", test.args, said, want)
			}
		}
	}
}
