package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/version"
)

// traceFlags are the flags of the root command.
type traceFlags struct {
	pids      []int
	format    string
	output    *format // of that name
	fields    fields
	json      bool
	limit     uint64
	duration  time.Duration
	quiet     bool
	verbose   bool
	cost      bool
	costs     *costs // nil unless they are measured
	force     bool
	ringSize  bytesValue
	maxString int
	sample    int
	stack     stackValue
	profile   profileFlags
	timeline  timelineFlags
	page      pageFlags
	serve     serveFlags
	strings   []string
	providers []string
	meanings  meanings
	pointers  []string
	args      []string
	where     string
	link      string
	rescan    time.Duration
	wait      bool
	comm, exe string
	cgroup    string // the directory of a control group, by which the kernel selects
	user      bool
	replayed  *replayed // the recordings; nil of live processes
	aggregate aggregateFlags
	snapshots snapshotFlags
	record    recordFlags
	command   []string // behind "--"
	silent    silences
	outputs   outputs
	prepared  func() // says that something is attached, or nothing will be
	held      *hold  // the command, once it has been started

	// Of "sdttrace top":
	show         func(context.Context, aggregate) error // instead of printing groups
	inBackground bool                                   // the command has no terminal
}

func newTraceCommand(stdout, stderr io.Writer) *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:     "sdttrace [flags] PROBE... [-- CMD ARG...]",
		Short:   "Trace USDT probes",
		Long:    traceHelp,
		Example: traceExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); f.aggregate.latency == "" && len(f.timeline.spans) == 0 && (len(args) == 0 || dash == 0) {
				return usageError{errors.New("name at least one PROBE to trace: [PATH:]PROVIDER:NAME")}
			}
			return nil
		},
		ValidArgsFunction: completeProbes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, f.command = args[:dash], args[dash:]
				if len(f.command) == 0 {
					return usageError{errors.New("name a command after --")}
				}
			}
			if err := f.checkGiven(cmd.Flags()); err != nil {
				return usageError{err}
			}
			return f.trace(cmd.Context(), args, stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.registerTarget(flags)
	f.aggregate.register(flags)
	f.snapshots.register(flags)
	flags.StringVar(&f.format, "format", "text", "output format: text or json")
	flags.BoolVar(&f.json, "json", false, "same as --format json: one object a line")
	registerFields(flags, &f.fields)
	flags.Uint64Var(&f.limit, "limit", 0, "end after this many events")
	flags.IntVar(&f.sample, "sample", 0, "print one in so many events, e.g. 100")
	registerStack(flags, &f.stack)
	f.profile.register(flags)
	f.record.register(flags)
	f.timeline.register(flags)
	f.page.register(flags)
	f.registerSession(flags)
	cmd.Version = version.String()
	cmd.SetVersionTemplate("sdttrace {{.Version}}\n")
	flags.Bool("version", false, "print the version and exit")
	return cmd
}

// registerTarget registers the flags that say which processes and events are traced.
func (f *traceFlags) registerTarget(flags *pflag.FlagSet) {
	flags.IntSliceVarP(&f.pids, "pid", "p", nil, "trace these processes only, until all have ended")
	flags.StringVar(&f.comm, "comm", "", "trace processes of this name only, also those that start later")
	flags.StringVar(&f.exe, "exe", "", "trace processes that run this file only, also those that start later")
	flags.BoolVar(&f.user, "user", false, "need no privileges: trace Go services of this user that offer their probes, e.g. by USDT_LOCAL=1")
	flags.StringVar(&f.where, "where", "", "trace only events for which this condition holds, e.g. 'arg0 > 5 && comm == \"x\"'")
}

// registerSession registers the flags that say how tracing is done.
func (f *traceFlags) registerSession(flags *pflag.FlagSet) {
	flags.DurationVar(&f.duration, "duration", 0, "end this long after the probes have been attached to, e.g. 10s")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only errors and the summary on stderr")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "say more in the summary: all counts, and what --cost says")
	flags.BoolVar(&f.cost, "cost", false, "say in the summary what sdttrace's programs cost: time per event, and share of the traced processes' CPU time")
	flags.BoolVar(&f.wait, "wait", false, "wait for probes that match if there are none yet, such as those of a service that starts later")
	flags.DurationVar(&f.rescan, "rescan", time.Second, "how often to look for probes that appear later; 0 for never")
	flags.StringSliceVar(&f.strings, "str", nil, "arguments that are pointers to strings: argN, argN[argM] if argM is its length, argN->8 to follow the pointer 8 bytes behind; PROVIDER:NAME:argN for these probes only")
	flags.StringSliceVar(&f.providers, "providers", nil, providersUsage)
	flags.StringSliceVar(&f.pointers, "follow", nil, "pointers of typed probes to follow: peer, peer.next, '*', or PROVIDER:NAME:peer")
	flags.StringSliceVar(&f.args, "args", nil, "arguments of functions to print, with their types, e.g. arg0,arg1:uint8,retval:int32; none for none (default those in registers)")
	flags.IntVar(&f.maxString, "max-string", 0, "bytes to keep of each string (default 1024)")
	flags.Var(&f.ringSize, "buffer", "size of the buffer between kernel and sdttrace, e.g. 64M (default 4M, with --stack=dwarf 64M)")
	flags.BoolVar(&f.force, "force", false, "attach even where that is known to harm the traced program, or the host")
	flags.StringVar(&f.link, "link", "auto", "how to attach: auto, multi or perf")
	flags.Lookup("link").Hidden = true
}

func (f *traceFlags) options() (*attach.Options, error) {
	if f.json {
		f.format = "json"
	}
	var err error
	if f.output, err = formatOf(f.format); err != nil {
		return nil, usageError{err}
	}
	if f.duration < 0 {
		return nil, usageError{fmt.Errorf("duration %v is negative", f.duration)}
	}
	for _, pid := range f.pids {
		if pid <= 0 {
			return nil, usageError{fmt.Errorf("process id %d is not positive", pid)}
		}
	}
	if len(f.command) > 0 && len(f.pids) > 0 {
		return nil, usageError{errors.New("-p and a command exclude each other")}
	}
	if f.rescan < 0 {
		return nil, usageError{fmt.Errorf("rescan %v is negative", f.rescan)}
	}
	if _, err := procfs.Stat(f.exe); f.exe != "" && !f.wait && errors.Is(err, os.ErrNotExist) {
		return nil, usageError{fmt.Errorf("--exe: %w; --wait waits for it", err)}
	}
	if f.comm != "" || f.exe != "" {
		f.wait = f.wait || f.rescan > 0 // for the processes
	}
	if f.wait && f.rescan == 0 {
		return nil, usageError{errors.New("--wait needs --rescan, which finds what is waited for")}
	}
	if f.profile.wanted() && f.stack.calls == 0 && !f.aggregate.adds() {
		f.stack.calls = attach.MaxStack
	}
	opts := &attach.Options{
		Target:    attach.Target{PIDs: f.pids, Comm: f.comm, Exe: f.exe, Cgroup: f.cgroup},
		Rescan:    f.rescan,
		Await:     f.wait,
		RingSize:  int(f.ringSize),
		MaxString: f.maxString,
		Strings:   f.strings,
		Follow:    f.pointers,
		Args:      f.args,
		Where:     f.where,
		Sample:    f.sample,
		Omit:      f.fields.omit(f.stack.calls > 0),
		Stack:     f.stack.calls,
		Unwind:    f.stack.unwind,
		Force:     f.force,
	}
	if opts.Prototypes, err = f.prototypes(); err != nil {
		return nil, err
	}
	switch {
	case f.replayed != nil:
		opts.Target, opts.Interval = attach.Target{Recordings: f.replayed.files}, max(f.aggregate.interval, 0)
	case f.user:
		opts.Target.Via = attach.ViaLocal
	}
	if f.link != "auto" && opts.Target.Via == attach.ViaAny {
		opts.Target.Via = attach.ViaKernel
	}
	switch f.link {
	case "auto":
	case "multi":
		opts.Link = attach.MultiLink
	case "perf":
		opts.Link = attach.PerfLink
	default:
		return nil, usageError{fmt.Errorf("link %q is not auto, multi or perf", f.link)}
	}
	return opts, nil
}
