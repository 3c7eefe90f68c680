package usdtreceiver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestProcessorTimeOfGroups compares what a container, and groups by their paths, have used with what
// the kernel says of the process in them, which ends meanwhile.
func TestProcessorTimeOfGroups(t *testing.T) {
	needs.Root(t)
	two := t.TempDir()
	if err := unix.Mount("none", two, "cgroup2", 0, ""); err != nil {
		needs.Skip(t, "the hierarchy of control groups cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(two, 0); err != nil {
			t.Error(err)
		}
	})
	t.Run("version 2", func(t *testing.T) { checkProcessorTimeOfGroups(t, two) })
	if v1 := container.RootsV1("cpuacct"); len(v1) > 0 {
		t.Run("version 1", func(t *testing.T) { checkProcessorTimeOfGroups(t, v1[0]) })
	}
}

func checkProcessorTimeOfGroups(t *testing.T, root string) {
	id := fmt.Sprintf("%064x", os.Getpid())
	top := filepath.Join(root, fmt.Sprintf("usdt_times_%d", os.Getpid()))
	group, beside := filepath.Join(top, "docker-"+id+".scope"), filepath.Join(top, "docker-"+id+".scope2")
	for _, dir := range []string{top, group, beside, group + "/below"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	targets := map[string]Target{
		"container":               {Container: id},
		"group":                   {Cgroup: group},
		"glob":                    {Cgroup: top[len(root):] + "/docker-*.scope"},
		"glob of directories":     {Cgroup: top + "/*.scope"},
		"nobody":                  {Container: "nobody-has-this-name"},
		"another":                 {Cgroup: beside},
		"processes of a name":     {Cgroup: group, Comm: "sh"},
		"processes of another":    {Cgroup: beside, Comm: "sh"},
		"processes of other name": {Cgroup: group, Comm: "usdt-not-here"},
	}
	all := map[string]*processorTime{}
	for name := range targets {
		target := targets[name]
		all[name] = newProcessorTime(&target)
	}
	begin, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer begin.Close()
	defer end.Close()
	// The child of the shell works in the group, and ends there.
	cmd := exec.Command("sh", "-c", `echo $$ > "$0"/cgroup.procs; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo >&3; read line`, group+"/below")
	cmd.ExtraFiles = []*os.File{end}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := begin.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	for name, p := range all {
		if p.target.Comm != "" {
			p.measure(time.Now())
		}
		if p.groups.has(fmt.Sprint(cmd.Process.Pid)) != (name != "nobody" && name != "another" && name != "processes of another") {
			t.Errorf("%s: in the group or not", name)
		}
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // read has no line
	worked := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	for name, p := range all {
		if p.target.Comm == "" {
			p.measure(time.Now())
		}
		// The process has begun elsewhere, and the kernel counts less often elsewhere.
		least, most := worked/2-2*tickOfClock, worked+4*tickOfClock
		switch name {
		case "another", "processes of another", "processes of other name":
			least, most = 0, 0
		case "nobody": // the whole machine instead
			most = time.Hour
		}
		if p.used < least || p.used > most {
			t.Errorf("%s used %v, want %v to %v", name, p.used, least, most)
		}
	}
}

// TestProcessorTimeOfEnded starts programs between two measurements, which end before the second: in a group the
// time that they used counts, by name it does not, as README says.
func TestProcessorTimeOfEnded(t *testing.T) {
	needs.Root(t)
	roots := container.RootsV1("cpuacct")
	if two, err := container.Roots(); err == nil {
		roots = append(roots, two[0])
	}
	if len(roots) == 0 {
		needs.Skip(t, "no hierarchy of control groups is mounted")
	}
	dir := filepath.Join(roots[0], fmt.Sprintf("usdt_ended_%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(t.TempDir(), "brief")
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, sh, 0o700); err != nil {
		t.Fatal(err)
	}
	inGroup, byName, byFile := newProcessorTime(&Target{Cgroup: dir}), newProcessorTime(&Target{Comm: "brief"}), newProcessorTime(&Target{Exe: program})
	var worked time.Duration
	for range 5 {
		cmd := exec.Command(program, "-c", `echo $$ > "$0"/cgroup.procs; i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done`, dir)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		worked += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	for _, p := range []*processorTime{inGroup, byName, byFile} {
		p.measure(time.Now())
	}
	if least := worked/2 - 2*tickOfClock; inGroup.used < least || byName.used != 0 || byFile.used != 0 {
		t.Errorf("%v in the group, %v by name, %v by file; want at least %v, and nothing", inGroup.used, byName.used, byFile.used, least)
	}
}
