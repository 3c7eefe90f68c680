package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestChildren asks for the children of a shell, one of which is also a shell.
func TestChildren(t *testing.T) {
	if same(t, "sh", "sleep") {
		needs.Skip(t, "the shell and sleep are one program here")
	}
	cmd := exec.Command("sh", "-c", `exec 3<&0; (read -r x <&3; exit) & a=$!; sleep 60 & echo $a $!; wait $a; kill $!`)
	p := tracee.Start(t, cmd) // the end of its input ends the first child, whose end ends the rest
	var shell, sleep int
	line := p.Line()
	if _, err := fmt.Sscan(line, &shell, &sleep); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	pid := p.PID()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid)); err != nil {
		needs.Skip(t, "the kernel lists no children: %v", err)
	}
	// The second child is a shell until it executes sleep.
	got := func(pids ...int) string {
		var b strings.Builder
		remark.Children(&b, pids)
		return b.String()
	}
	want := fmt.Sprintf("sdttrace: process %d has 1 children ", pid)
	for deadline := time.Now().Add(2 * time.Minute); !strings.HasPrefix(got(pid), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q", got(pid), want)
		}
	}
	if s := got(pid, shell); s != "" {
		t.Errorf("got %q of traced children", s)
	}
}

// same reports whether two commands are one file, as in busybox.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	var infos [2]os.FileInfo
	for i, name := range []string{a, b} {
		path, err := exec.LookPath(name)
		if err == nil {
			infos[i], err = os.Stat(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return os.SameFile(infos[0], infos[1])
}
