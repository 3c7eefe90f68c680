package attach

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/process"
)

// Target says which processes are traced. The zero value means all of them,
// those that start later included.
type Target struct {
	// PIDs are processes, by the ids that they have in this process's PID
	// namespace. Tracing ends when all of them have ended. With more than 8 PIDs,
	// other processes that run the same files are slowed down, too, though their
	// events are not recorded.
	PIDs []int
	// Comm is the name of the processes, as their first thread has it, and Exe is
	// the path of the file that they run. Neither can be combined with PIDs. The
	// kernel compares both when a probe fires, so that it does not matter when a
	// process starts, gets its name or executes the file. With [Options.Await]
	// the file need not exist yet; with [Options.Rescan] each rescan looks up the
	// path again. Comm and Exe select events of generated programs:
	// [AttachProbes], [Find] and collections refuse them.
	Comm, Exe string
}

// checked returns a copy in which each process is named once.
func (t Target) checked() (Target, error) {
	switch {
	case t.Comm == "" && t.Exe == "":
	case len(t.PIDs) > 0:
		return t, &OptionError{"Target", errors.New("PIDs exclude Comm and Exe")}
	case len(t.Comm) >= codegen.CommSize:
		return t, &OptionError{"Comm", fmt.Errorf("%q is longer than the %d bytes that the kernel keeps of a name", t.Comm, codegen.CommSize-1)}
	}
	for _, pid := range t.PIDs {
		if pid <= 0 {
			return t, &OptionError{"PIDs", fmt.Errorf("%d is not positive", pid)}
		}
	}
	t.PIDs = slices.Compact(slices.Sorted(slices.Values(t.PIDs)))
	return t, nil
}

// byPID is checked for callers that generate no programs, and so cannot select by
// Comm or Exe. The processes of the copy exist.
func (t Target) byPID() (Target, error) {
	for _, o := range []struct{ name, value string }{{"Comm", t.Comm}, {"Exe", t.Exe}} {
		if o.value != "" {
			return t, &OptionError{o.name, errors.New("only generated programs select by it: compare it in your own program")}
		}
	}
	t, err := t.checked()
	if err != nil {
		return t, err
	}
	return t, t.exist()
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
