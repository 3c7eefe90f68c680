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
	"github.com/go-usdt/usdt/internal/systest/tracee"
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
	// One that is made later is waited for.
	later := group + "/later"
	var said tracee.Output
	cmd := exec.Command(sdttrace, "print", "--wait", "--limit", "5", "--cgroup", later, entry)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said.Await(t, "there is no control group "+later)
	if err := os.Mkdir(later, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(later); err != nil {
			t.Error(err)
		}
	})
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for waits := true; waits; {
		if out, err := exec.Command("sh", "-c", program+" pushes 3; echo $$ >"+later+"/cgroup.procs; exec "+program+" pushes 5").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		select {
		case err := <-ended:
			if waits = false; err != nil || !strings.Contains(said.String(), " 5 events, 0 lost, ") {
				t.Errorf("%v: %s", err, &said)
			}
		default:
		}
	}
	for _, wrong := range []string{group + "/none", group + "/cgroup.procs", "no/such.group"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"count", "--cgroup", wrong, entry}, &stdout, &stderr); code != exitUsage || !strings.HasPrefix(stderr.String(), "sdttrace: --cgroup: there is no control group ") {
			t.Errorf("--cgroup %s: exit code %d: %s", wrong, code, &stderr)
		}
	}
}

// TestCgroupOfContainer checks that verbs trace the processes of containers and of pods, that a
// pattern names control groups, and what is said of wrong names.
func TestCgroupOfContainer(t *testing.T) {
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
	uid := fmt.Sprintf("0f3a5c7e-9b1d-4e2f-8a6b-%012d", os.Getpid()) // no run finds the groups of one that was killed
	id := fmt.Sprintf("feedbeef%056d", os.Getpid())
	pod := filepath.Join(root, "pod"+uid)
	container := pod + "/" + id
	for _, dir := range []string{pod, container} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	program := needs.Compile(t, "testdata/calls.c", "gcc", "-O1")
	entry := "uprobe:" + program + ":pushes"
	for _, c := range []struct {
		args    []string
		events  int
		missing string // what is said of names that nothing has; empty for nothing
	}{
		{[]string{"count", "--container", id, entry}, 5, ""},
		{[]string{"count", "--by", "pid", "--pod", uid, entry}, 5, ""},
		{[]string{"top", "--container", id[:16], entry}, 5, ""},
		{[]string{"print", "-q", "-v", "--cgroup", "pod" + uid + "/*", entry}, 5, ""},
		{[]string{"top", "--cgroup", root + "/pod" + uid + "*", entry}, 5, ""},
		{[]string{"count", "--cgroup", filepath.Base(root) + "/pod" + uid + "*", entry}, 5, ""},
		{[]string{"count", "--container", id, "--where", "arg0 == 12345", entry}, 0, ""},
		{[]string{"count", "--container", "no-such-name", entry}, 0, "sdttrace: there is no container no-such-name; there are: "},
		{[]string{"count", "--pod", "shop/no-such-name", entry}, 0, "sdttrace: there is no pod shop/no-such-name; there are: "},
		{[]string{"count", "--pod", "shop/web", "--container", id, entry}, 0, "sdttrace: there is no container " + id + " in pod shop/web; there are: "},
		{[]string{"count", "--cgroup", "no-such-name/*", entry}, 0, "sdttrace: there is no control group no-such-name/*; "},
	} {
		args := append(c.args, "--", "sh", "-c", "echo $$ >"+container+"/cgroup.procs; exec "+program+" pushes 5")
		out, err := exec.Command(sdttrace, args...).CombinedOutput()
		if said := fmt.Sprintf(" %d events, 0 lost, ", c.events); err != nil || !strings.Contains(string(out), said) {
			t.Errorf("%q: %v, want %q: %s", args, err, said, out)
		}
		if !strings.Contains(string(out), c.missing) || (c.missing == "") == strings.Contains(string(out), "there is no ") {
			t.Errorf("%q: want %q: %s", args, c.missing, out)
		}
	}
	// It is said before the end as well: the command waits until it can be read.
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/wait.sh", []byte("for i in $(seq 1200); do grep -q 'no-such-name.* until now' "+dir+"/said && exit 0; sleep 0.1; done; exit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", sdttrace+" count --container no-such-name "+entry+" -- sh "+dir+"/wait.sh 2>"+dir+"/said").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, wrong := range [][]string{{"--pod", "web"}, {"--container", "a["}, {"--cgroup", "a[*"}, {"--cgroup", pod, "--container", id}} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append(append([]string{"count"}, wrong...), entry), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), wrong[0]) {
			t.Errorf("%q: exit code %d: %s", wrong, code, &stderr)
		}
	}
}
