package attach

import (
	"context"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/reader"
)

// ProgramOptions say how [AttachProbes] attaches. The zero value, and nil, attach
// in every process.
type ProgramOptions struct {
	// Target says in which processes the program runs, by PIDs only.
	Target Target
	// Cookies are the values that bpf_get_attach_cookie returns in the program:
	// one for each probe, or one for all of them. None means 0.
	Cookies []uint64
	// Force attaches where [Options.Force] does.
	Force bool
	// Link chooses the kernel's mechanism.
	Link LinkKind
}

// AttachProbes attaches the caller's program to probe sites. The program has type
// Kprobe, and attach type AttachTraceUprobeMulti for uprobe_multi links or none
// for perf events; [AutoLink] finds out which. With uprobe_multi the kernel gets
// one link per file, and per process if [Target.PIDs] names some. opts may be
// nil.
//
// The kernel goes through all links on a site whenever a process reaches it: each
// PID adds 20 to 60 ns to every event of the others, and 100 PIDs cost more than
// the event itself. To avoid that cost, attach without PIDs a program that looks
// up the process itself, as package collection makes its programs do.
//
// Linux 6.13 and later give a program that uses 64 bytes of stack or more a stack
// for each CPU. Two tasks may run the program on one CPU at a time, and each
// overwrite what the other has stored. [Site.Notes] says so where that can be
// found out. A tail call somewhere in the program, even one that is never made,
// keeps it on the task's own stack.
//
// The error wraps [ErrNoSite] if no site could be attached to. If some could,
// AttachProbes succeeds, and Plan lists the others.
func AttachProbes(prog *ebpf.Program, probes []reader.Probe, opts *ProgramOptions) (*Attachment, error) {
	var o ProgramOptions
	if opts != nil {
		o = *opts
	}
	if prog == nil || len(probes) == 0 {
		return nil, errors.New("attach needs a program and at least one probe")
	}
	if n := len(o.Cookies); n > 1 && n != len(probes) {
		return nil, &OptionError{"Cookies", fmt.Errorf("%d for %d probes", n, len(probes))}
	}
	if typ := prog.Type(); typ != ebpf.Kprobe {
		return nil, fmt.Errorf("the program has type %v: probes run programs of type %v, as sections uprobe and uprobe.multi have it", typ, ebpf.Kprobe)
	}
	err := optionError("Link", link.Kind(o.Link).Check())
	if err != nil {
		return nil, err
	}
	if o.Target, err = o.Target.byPID(); err == nil {
		err = o.Target.exist()
	}
	if err != nil {
		return nil, err
	}
	pids := o.Target.PIDs
	if len(pids) == 0 {
		pids = []int{0}
	}
	procs, err := process.Hold(o.Target.PIDs)
	if err != nil {
		return nil, err
	}
	defer procs.Close()
	kind, err := link.Choose(link.Kind(o.Link), len(o.Target.PIDs) > 0)
	if err != nil {
		return nil, err
	}
	a, err := attachOwn(prog, probes, pids, &o, procs, kind)
	if o.Link == AutoLink && kind == link.Multi && errors.Is(err, unix.EINVAL) {
		// The program may have been loaded for perf events.
		perf, perfErr := attachOwn(prog, probes, pids, &o, procs, link.Perf)
		if perfErr == nil {
			return perf, nil
		}
		var missing *privilege.Error
		if errors.As(perfErr, &missing) {
			err = fmt.Errorf("%w; if the program was loaded for perf events: %w", err, perfErr)
		}
	}
	return a, err
}

func attachOwn(prog *ebpf.Program, probes []reader.Probe, pids []int, o *ProgramOptions, procs *process.Set, kind link.Kind) (*Attachment, error) {
	planner := newPlanner(o.Force)
	defer planner.Objects.Close()
	plan := make(site.Plan, 0, len(probes)*len(pids))
	var cookies []uint64 // of the sites
	for i, p := range probes {
		for _, pid := range pids {
			sites := site.Plan{{Report: site.Report{Probe: p, PID: pid}}}.AtReturns(planner)
			for j := range sites {
				sites[j].Decide(planner)
				var cookie uint64
				if n := len(o.Cookies); n > 0 {
					cookie = o.Cookies[i%n]
				}
				cookies = append(cookies, cookie)
			}
			plan = append(plan, sites...)
		}
	}
	groups := site.Groups{Objects: planner.Objects, Procs: procs}
	private := kernel.PrivateStackOf(prog)
	for i := range plan {
		if plan[i].Reason != nil {
			continue
		}
		if private != "" {
			plan[i].Notes = append(plan[i].Notes, private)
		}
		groups.Add(&plan[i], prog, cookies[i])
	}
	a, err := site.Attach(context.Background(), plan, groups.All, kind)
	if err != nil {
		return nil, err
	}
	return &Attachment{a}, nil
}
