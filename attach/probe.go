package attach

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/reader"
)

// Probe attaches the caller's program to a probe site. It must be a program of
// type Kprobe, loaded with attach type AttachTraceUprobeMulti for uprobe_multi
// links and with none for perf events; [AutoLink] finds out which. opts may be
// nil: the program then runs in every process.
func Probe(prog *ebpf.Program, p *reader.Probe, opts *Options) (*Attachment, error) {
	return Probes(prog, []reader.Probe{*p}, opts)
}

// Probes attaches the caller's program to several sites at once. With
// uprobe_multi the kernel gets one link per file, and per process if
// [Options.PIDs] names some. The cookies of opts reach the program unchanged.
//
// The kernel goes through all links on a place whenever one of the processes
// reaches it: each PID costs every event of the others 20 to 60 ns, 100 of them more
// than the event itself. A program that is loaded cannot be changed to look the
// process up: one that does so itself is attached without PIDs, and those of a
// [Collection] are changed when they are loaded.
//
// Linux 6.13 and later give programs that use 64 bytes of stack or more one per
// CPU. Two tasks may run them at a time there, and overwrite what the other has
// stored. Where that can be told, [Site.Notes] says so; a tail call somewhere in
// the program, even one that is never made, keeps it on the task's own stack.
//
// Of opts, PIDs, Cookie, Cookies, Force and Link matter; it is an error to set
// what concerns generated programs or looking for probes.
//
// The error wraps [ErrNoSite] if no site could be attached to. If only some
// could, that is no error: see Plan.
func Probes(prog *ebpf.Program, probes []reader.Probe, opts *Options) (*Attachment, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := opts.ofEvents("programs of the caller's own"); err != nil {
		return nil, err
	}
	if err := opts.ofSearch("probes that are given are not looked for"); err != nil {
		return nil, err
	}
	if err := opts.ofCollections("programs that are loaded keep the stack that they have"); err != nil {
		return nil, err
	}
	if prog == nil || len(probes) == 0 {
		return nil, errors.New("attach needs a program and at least one probe")
	}
	if len(o.Cookies) != 0 && len(o.Cookies) != len(probes) {
		return nil, fmt.Errorf("%d cookies for %d probes", len(o.Cookies), len(probes))
	}
	pids := o.PIDs
	if len(pids) == 0 {
		pids = []int{0}
	}
	procs, err := holdProcesses(o.PIDs)
	if err != nil {
		return nil, err
	}
	defer procs.Close()
	kind, err := chooseLink(o.Link, len(o.PIDs) > 0)
	if err != nil {
		return nil, err
	}
	a, err := attachOwn(prog, probes, pids, &o, procs, kind)
	if o.Link == AutoLink && kind == MultiLink && errors.Is(err, unix.EINVAL) {
		// The program may have been loaded for perf events.
		perf, perfErr := attachOwn(prog, probes, pids, &o, procs, PerfLink)
		if perfErr == nil {
			return perf, nil
		}
		var missing *PrivilegeError
		if errors.As(perfErr, &missing) {
			err = fmt.Errorf("%w; if the program was loaded for perf events: %w", err, perfErr)
		}
	}
	return a, err
}

func attachOwn(prog *ebpf.Program, probes []reader.Probe, pids []int, o *Options, procs *processes, kind LinkKind) (*Attachment, error) {
	planner := newPlanner(o.Force)
	defer planner.objects.Close()
	plan := make(Plan, 0, len(probes)*len(pids))
	for _, p := range probes {
		for _, pid := range pids {
			plan = append(plan, Site{Probe: p, PID: pid})
			planner.plan(&plan[len(plan)-1])
		}
	}
	groups := grouper{objects: planner.objects, procs: procs}
	private := privateStackOf(prog)
	for i := range plan {
		if plan[i].Reason != nil {
			continue
		}
		if private != "" {
			plan[i].Notes = append(plan[i].Notes, private)
		}
		cookie := o.Cookie
		if len(o.Cookies) != 0 {
			cookie = o.Cookies[i/len(pids)]
		}
		groups.add(&plan[i], prog, cookie)
	}
	return newAttachment(o.Context, plan, groups.all, kind)
}
