package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"

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
// Sites in the kernel, which [Find] and the Sites of sessions have, run programs in all processes: at
// functions (kprobe, kretprobe) as above, with AttachTraceKprobeMulti for kprobe_multi links, and at
// tracepoints programs of type TracePoint. A program for fentry or fexit is loaded for one function, to
// which link.AttachTracing of cilium/ebpf attaches it.
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
	inKernel, err := checkProgram(prog, probes)
	if err != nil {
		return nil, err
	}
	if err := optionError("Link", link.Kind(o.Link).Check()); err != nil {
		return nil, err
	}
	if inKernel && len(o.Target.PIDs) > 0 {
		return nil, &OptionError{"PIDs", errors.New("the kernel runs programs at its functions and tracepoints in all processes")}
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
	kinds, err := chooseOwn(o.Link, probes, len(o.Target.PIDs) > 0)
	if err != nil {
		return nil, err
	}
	a, err := attachOwn(prog, probes, pids, &o, procs, kinds)
	if o.Link == AutoLink && errors.Is(err, unix.EINVAL) {
		// The program may have been loaded for perf events.
		perf, unusable := chooseOwn(PerfLink, probes, len(o.Target.PIDs) > 0)
		if unusable != nil || perf.file == kinds.file && maps.Equal(perf.kernel, kinds.kernel) {
			return nil, err
		}
		events, perfErr := attachOwn(prog, probes, pids, &o, procs, perf)
		if perfErr == nil {
			return events, nil
		}
		var missing *privilege.Error
		if errors.As(perfErr, &missing) {
			err = fmt.Errorf("%w; if the program was loaded for perf events: %w", err, perfErr)
		}
	}
	return a, err
}

// checkProgram returns an error if a probe runs no programs of this type, and else whether probes are
// in the kernel.
func checkProgram(prog *ebpf.Program, probes []reader.Probe) (inKernel bool, err error) {
	for i := range probes {
		p := &probes[i]
		inKernel = inKernel || p.Kind.InKernel()
		want, sections := link.Programs(p.Kind)
		if sections == "" {
			return inKernel, fmt.Errorf("%s:%s runs programs that were loaded for it, which link.AttachTracing attaches; sites of kprobe: and kretprobe: run any of type %v", p.Kind, p.Name, ebpf.Kprobe)
		}
		if typ := prog.Type(); typ != want {
			return inKernel, fmt.Errorf("the program has type %v: probes such as %s run programs of type %v, as sections %s have it", typ, site.Name(p), want, sections)
		}
	}
	return inKernel, nil
}

// ownKinds are the kinds of links by which a program of the caller's is attached to files, and to each
// kind of sites of the kernel.
type ownKinds struct {
	file   link.Kind
	kernel map[reader.ProbeKind]link.Kind
}

// linkTo returns the kind of the link to a site of the kernel.
func (k ownKinds) linkTo(p *reader.Probe) link.Kind { return k.kernel[p.Kind] }

func chooseOwn(want LinkKind, probes []reader.Probe, filtered bool) (k ownKinds, err error) {
	k = ownKinds{link.Perf, map[reader.ProbeKind]link.Kind{}}
	for i := range probes {
		if kind := probes[i].Kind; kind.InKernel() {
			k.kernel[kind], err = link.ChooseKernel(kind, link.Kind(want))
		} else {
			k.file, err = link.Choose(link.Kind(want), filtered)
		}
		if err != nil {
			return k, err
		}
	}
	return k, nil
}

func attachOwn(prog *ebpf.Program, probes []reader.Probe, pids []int, o *ProgramOptions, procs *process.Set, kinds ownKinds) (*Attachment, error) {
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
	if err := plan.CheckKernel(kinds.linkTo); err != nil && !o.Force {
		return nil, &OptionError{"Force", err}
	}
	groups := site.Groups{Objects: planner.Objects, Procs: procs, Kernel: kinds.linkTo}
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
	a, err := site.Attach(context.Background(), plan, groups.All, kinds.file)
	if err != nil {
		return nil, err
	}
	return &Attachment{a}, nil
}
