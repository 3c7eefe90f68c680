package attach

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/selected"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Target says which processes are traced. The zero value means all of them, also
// processes that start later.
type Target struct {
	// PIDs are processes, by the ids that they have in this process's PID
	// namespace. Tracing ends when all of them have ended. With more than 8 PIDs,
	// other processes that run the same files are also slowed down, though their
	// events are not recorded.
	PIDs []int
	// Children says that whatever the PIDs start is traced as well: the children that they
	// have, later ones from their start, and the children of these. Tracing ends when all of
	// them have ended. The kernel follows them, so that a process may end before it is seen.
	// Probes are attached to in files, as without PIDs: other processes that run a file also
	// pay for its probes, though their events are not recorded. The files that one of the
	// processes has mapped are searched; the probes of a file that none had before fire unseen
	// until the next rescan, or from the first on with its path in the selector and
	// [Options.Await].
	Children bool
	// Comm is the name of the processes, as their first thread has it, and Exe is
	// the path of the file that they run. Neither can be combined with PIDs. The
	// kernel compares both when a probe fires, so that it does not matter when a
	// process starts, gets its name or executes the file. With [Options.Await]
	// the file need not exist yet; with [Options.Rescan] each rescan looks up the
	// path again. The file of Exe, or a program in PATH called Comm, is attached to at
	// once, with the libraries that it is linked with; any other file that a process called
	// Comm maps, within milliseconds where the kernel reports new mappings to this process
	// (CAP_PERFMON), else at the next rescan. Files that none of them has mapped are then left
	// alone unless a selector has their path. Comm and Exe select events of generated
	// programs: [AttachProbes], [Find] and collections refuse them.
	Comm, Exe string
	// Cgroup is the directory of a control group, such as
	// /sys/fs/cgroup/system.slice/myapp.service: only processes are traced that are in it,
	// or below it, when a probe fires. It is one of version 2, or of a hierarchy of version 1 with the
	// controller pids, memory, devices, freezer, cpu or blkio. The kernel decides, so that it does not matter when
	// a process starts or is moved, or how soon it ends. With [Options.Rescan] each rescan looks up the
	// path again: a service that starts again has another group there. Like Comm and Exe, it is for
	// generated programs, but it can be combined with PIDs.
	// A path with '*', '?' or '[' names several, as [path.Match] has it, from the root of the
	// hierarchy or from where that is mounted: "kubepods.slice/*". Groups that are made later count.
	// A pattern from the root, Container and Pod also select by groups of version 1, of the first of
	// these controllers that is used: processes that no group of version 2 has.
	Cgroup string
	// Container is a name of containers, as Docker, Podman, CRI-O or Kubernetes have it, or at
	// least 12 digits of the identifier of one; Pod is NAMESPACE/NAME of Kubernetes pods, or the
	// UID of one. Names may have '*', '?' and '['. The paths of control groups have identifiers; names
	// are read from the files of the runtime and the kubelet. The kernel reports new control groups,
	// and one is selected within milliseconds, as soon as a file names it; each rescan looks for
	// names again. Both can be combined with a Cgroup that is a pattern, and are for generated
	// programs, as Cgroup is. Groups of more than 12 levels below the root are not found.
	Container, Pod string
	// Via is the way by which events come. [AttachProbes], [Find] and collections,
	// whose programs are in the kernel, ignore it. ViaLocal, without PIDs, is for
	// the processes that this one may inspect; Comm and Exe are compared when such a
	// process is found.
	Via Via
	// Recordings are files that a [Recorder] has written, or files of flight recorders, see
	// [provider.Options.FlightRecorder]: what they have kept is delivered, by time, and tracing
	// ends. Their processes need not live. Type.Struct is nil in probes from a file of a
	// Recorder. A file that several paths lead to is read once. Recordings cannot be combined
	// with anything else of a Target.
	//
	// [provider.Options.FlightRecorder]: https://pkg.go.dev/github.com/go-usdt/usdt/provider#Options
	Recordings []string
}

// checked returns a copy in which each process is named once.
func (t Target) checked() (Target, error) {
	switch {
	case t.Via < ViaAny || t.Via > ViaRecording:
		return t, &OptionError{"Via", fmt.Errorf("%d is no way", int(t.Via))}
	case len(t.Recordings) > 0 && (len(t.PIDs) > 0 || t.Comm != "" || t.Exe != "" || t.Cgroup != "" || t.Container != "" || t.Pod != "" || t.Via != ViaAny && t.Via != ViaRecording):
		return t, &OptionError{"Recordings", errors.New("they exclude other targets")}
	case slices.Contains(t.Recordings, ""):
		return t, &OptionError{"Recordings", errors.New("the path of one is empty")}
	case len(t.Recordings) == 0 && t.Via == ViaRecording:
		return t, &OptionError{"Via", errors.New("there is no recording")}
	case t.Children && len(t.PIDs) == 0:
		return t, &OptionError{"Children", errors.New("there are no PIDs whose children are meant")}
	case t.Children && (t.Via == ViaLocal || t.Via == ViaBoth):
		return t, &OptionError{"Children", errors.New("only the kernel follows them, and not shared memory")}
	}
	if err := t.checkGroups(); err != nil {
		return t, err
	}
	switch {
	case t.Comm == "" && t.Exe == "":
	case len(t.PIDs) > 0:
		return t, &OptionError{"Target", errors.New("PIDs exclude Comm and Exe")}
	case len(t.Comm) >= selected.CommSize:
		return t, &OptionError{"Comm", fmt.Errorf("%q is longer than the %d bytes that the kernel keeps of a name", t.Comm, selected.CommSize-1)}
	}
	for _, pid := range t.PIDs {
		if pid <= 0 {
			return t, &OptionError{"PIDs", fmt.Errorf("%d is not positive", pid)}
		}
	}
	if len(t.Recordings) > 0 {
		t.Via = ViaRecording
	}
	t.PIDs = slices.Compact(slices.Sorted(slices.Values(t.PIDs)))
	return t, nil
}

// byPID is checked for callers that generate no programs, and so cannot select by anything else.
func (t Target) byPID() (Target, error) {
	for _, o := range []struct {
		name  string
		given bool
	}{{"Comm", t.Comm != ""}, {"Exe", t.Exe != ""}, {"Cgroup", t.Cgroup != ""}, {"Container", t.Container != ""}, {"Pod", t.Pod != ""}, {"Children", t.Children}} {
		if o.given {
			return t, &OptionError{o.name, errors.New("only generated programs select by it: compare it in your own program")}
		}
	}
	if len(t.Recordings) > 0 {
		return t, &OptionError{"Recordings", errors.New("no program runs where they are read")}
	}
	return t.checked()
}

// only returns the processes that attachments are restricted to; none if they are to files.
func (t Target) only() []int {
	if t.Children {
		return nil
	}
	return t.PIDs
}

// selects reports whether Comm, Exe and control groups select a process.
func (t Target) selects(pid int) (bool, error) {
	if t.Comm != "" {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil || string(bytes.TrimSuffix(comm, []byte("\n"))) != t.Comm {
			return false, err
		}
	}
	if t.Exe != "" {
		want, err := procfs.Stat(t.Exe)
		if err != nil {
			return false, err
		}
		exe, err := procfs.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil || !os.SameFile(exe, want) {
			return false, err
		}
	}
	if groups := t.groups(); groups != nil {
		return cgroups.Has(*groups, pid)
	}
	if v1, err := cgroups.DirectoryV1(t.Cgroup); err != nil {
		return false, err
	} else if v1 != "" {
		return cgroups.Has(container.Selector{Glob: v1}, pid)
	}
	if t.Cgroup != "" {
		group, err := process.OpenCgroup(t.Cgroup)
		if err != nil {
			return false, err
		}
		return group.Has(pid)
	}
	return true, nil
}

// exist returns an error if one of the processes does not exist.
func (t Target) exist() error {
	for _, pid := range t.PIDs {
		if err := process.Check(pid); err != nil {
			return err
		}
	}
	return nil
}
