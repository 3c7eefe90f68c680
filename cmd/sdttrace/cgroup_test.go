package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCgroup checks that every verb traces the processes of a control group only.
func TestCgroup(t *testing.T) {
	needs.Root(t)
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		needs.Skip(t, "the hierarchy of control groups cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	group := filepath.Join(root, fmt.Sprintf("sdttrace_%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	program := needs.Compile(t, "testdata/calls.c", "gcc", "-O1")
	entry, ret := "uprobe:"+program+":pushes", "uretprobe:"+program+":pushes"
	out := filepath.Join(t.TempDir(), "out")
	for _, verb := range [][]string{
		{"print", entry}, {"count", entry}, {"stats", "arg0", entry}, {"hist", "arg0", entry}, {"latency", entry, ret},
		{"profile", "-o", out, entry}, {"timeline", "-o", out, entry}, {"page", "-o", out, entry}, {"record", "-o", out, entry},
		{"snapshot", "pid > 0", entry}, {"top", entry},
	} {
		hits := 5
		if verb[0] == "latency" {
			hits = 10 // of both probes
		}
		for events, script := range map[int]string{hits: "echo $$ >" + group + "/cgroup.procs; exec " + program + " pushes 5", 0: "exec " + program + " pushes 5"} {
			args := append(append([]string{}, verb...), "--cgroup", group, "--", "sh", "-c", script)
			out, err := exec.Command(sdttrace, args...).CombinedOutput()
			if said := fmt.Sprintf(" %d events, 0 lost, ", events); err != nil || !strings.Contains(string(out), said) {
				t.Errorf("%q: %v, want %q: %s", args, err, said, out)
			}
		}
	}
	for _, wrong := range []string{group + "/none", group + "/cgroup.procs", "no/such.group"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"count", "--cgroup", wrong, entry}, &stdout, &stderr); code != exitUsage || !strings.HasPrefix(stderr.String(), "sdttrace: --cgroup: there is no control group ") {
			t.Errorf("--cgroup %s: exit code %d: %s", wrong, code, &stderr)
		}
	}
}
