package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	want := fmt.Sprintf("sdttrace: process %d has 1 child running ", pid)
	for deadline := time.Now().Add(2 * time.Minute); !strings.HasPrefix(got(pid), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q", got(pid), want)
		}
	}
	if s := got(pid, shell); s != "" {
		t.Errorf("got %q of traced children", s)
	}
}

// TestFamily checks that every verb with --children has each event of a command that forks at random,
// and none of another process that runs the same file. Every second verb also traces a running process
// and its child.
func TestFamily(t *testing.T) {
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	program := needs.Compile(t, "testdata/tree.c", "gcc", "-O1")
	entry, ret := "uprobe:"+program+":hit", "uretprobe:"+program+":hit"
	out := filepath.Join(t.TempDir(), "out")
	for seed, verb := range [][]string{
		{"print", "tree:hit"}, {"count", "tree:hit"}, {"stats", "arg0", "tree:hit"}, {"hist", "arg0", "tree:hit"}, {"latency", entry, ret},
		{"profile", "-o", out, "tree:hit"}, {"timeline", "-o", out, entry}, {"page", "-o", out, "tree:hit"}, {"record", "-o", out, "tree:hit"},
		{"snapshot", "pid > 0", "tree:hit"}, {"top", "tree:hit"},
	} {
		for _, live := range []bool{false, true}[:1+seed%2] {
			dir := t.TempDir()
			count, gate := filepath.Join(dir, "count"), filepath.Join(dir, "gate")
			tree := exec.Command(program, count, fmt.Sprint(seed), "4")
			other := exec.Command(program, filepath.Join(dir, "other"), "1", "3")
			args := append([]string{verb[0], "--children"}, verb[1:]...)
			cmd := exec.Command(sdttrace, append(append(args, "--"), tree.Args...)...)
			if live {
				tree.Args = append(tree.Args, gate)
				p := tracee.StartVictim(t, tree)
				cmd = exec.Command(sdttrace, append(args, "-p", fmt.Sprint(p.PID()))...)
			}
			said := &tracee.Output{}
			cmd.Stderr = said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if live {
				said.Await(t, "sdttrace: attached to ")
				if err := other.Run(); err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(gate, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := cmd.Wait()
			b, _ := os.ReadFile(count)
			fired := binary.NativeEndian.Uint64(append(b, make([]byte, 8)...))
			if verb[0] == "latency" {
				fired *= 2 // both probes
			}
			if want := fmt.Sprintf(" %d events, 0 lost, ", fired); err != nil || fired < 5 || !strings.Contains(said.String(), want) {
				t.Errorf("%q: %v, want %q: %s", cmd.Args[1:], err, want, said)
			}
		}
	}
}

// TestFamilyExecuted checks that nothing is missing of programs that a shell starts, whose files
// sdttrace finds only when they are executed, and which outlive it. They are adopted, also by a
// shell that has jobs: by process 1 of a namespace, in the same session and another group.
func TestFamilyExecuted(t *testing.T) {
	links := commands(t, "sdttrace", "hasty")
	tree := needs.Compile(t, "testdata/tree.c", "gcc", "-O1")
	for _, around := range [][]string{nil, {"unshare", "--pid", "--fork", "--mount-proc", "setsid", "sh", "-c", `timeout 60 "$@"; exit $?`, "sh"}} {
		dir := t.TempDir()
		script := fmt.Sprintf("%s/hasty 7; %s %s/a 3 2; { sleep 0.1; %[2]s %[3]s/b 4 2; } & true", links, tree, dir)
		args := append(around, filepath.Join(links, "sdttrace"), "count", "--children", "tree:hit", "hasty:call", "--", "sh", "-c", script)
		said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		fired := uint64(7)
		for _, name := range []string{"a", "b"} {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			fired += binary.NativeEndian.Uint64(append(b, make([]byte, 8)...))
		}
		want := fmt.Sprintf(" %d events, 0 lost, ", fired)
		if err != nil || fired < 17 || !strings.Contains(string(said), want) || strings.Contains(string(said), " late") {
			t.Errorf("%q: %v, want %q: %s", around, err, want, said)
		}
	}
}

// TestFamilyKilled kills sdttrace while what a shell has started stands still, at times: it goes on.
func TestFamilyKilled(t *testing.T) {
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	for round := range 5 {
		going := filepath.Join(t.TempDir(), "going")
		cmd := exec.Command(sdttrace, "--children", "killed:none", "--", "sh", "-c", `>$0; while [ -e $0 ]; do env echo line; done`, going)
		said, stderr, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		if err := said.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = stderr
		p := tracee.StartVictim(t, cmd)
		stderr.Close()
		lines := bufio.NewScanner(said)
		for n := 0; n < 3+round && lines.Scan(); n++ {
		}
		time.Sleep(time.Duration(round) * 7 * time.Millisecond) // anywhere between exec and exit
		p.Kill()
		for n := 0; n < 50; n++ {
			if !lines.Scan() {
				t.Fatalf("round %d: the shell stands still after %d lines: %v", round, n, lines.Err())
			}
		}
		if err := os.Remove(going); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // until it ends
		}
		if err := lines.Err(); err != nil {
			t.Errorf("round %d: the shell does not end: %v", round, err)
		}
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
