package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/version"
)

// traceFlags are the flags of the root command.
type traceFlags struct {
	pids      []int
	format    string
	output    *format // of that name
	json      bool
	limit     uint64
	duration  time.Duration
	quiet     bool
	force     bool
	ringSize  bytesValue
	maxString int
	strings   []string
	pointers  []string
	args      []string
	where     string
	link      string
	rescan    time.Duration
	wait      bool
	comm, exe string
	aggregate aggregateFlags
	command   []string // behind "--"
	held      *hold    // the command, once it has been started
}

const traceExample = `  sdttrace -p 4711 'myapp:request_*'           the probes of a process
  sdttrace --json --limit 5 'python:gc__*'     five events from any python, as JSON
  sdttrace /usr/lib/libfoo.so:foo:open         a library, in all processes, also later ones
  sdttrace --where 'status >= 500 && path ~ "/api/*"' myapp:request_done   filtered by the kernel
  sdttrace --hist ms --by path --interval 10s myapp:request_done   aggregated by the kernel
  sdttrace --latency myapp:request_start,myapp:request_done --key id --by path   from one to the other
  sdttrace --str arg0 -p 99 postgresql:query__start   arg0 is a pointer to a string
  sdttrace --wait 'myapp:*'                    a service that has not been started yet
  sdttrace 'python:*' -- python3 script.py     a command, from its start to its end
  sdttrace --args arg0,arg1 'uprobe:./srv:http::Server::*'   functions of C++, Rust, Go or C
  sdttrace --hist retval uretprobe:libc.so.6:read            what a function returns
  sdttrace 'uprobe:/usr/lib/*/libssl.so*:SSL_read' uprobe:./srv:handle+0x1f   in several files; an instruction
  sdttrace --latency uprobe:./srv:handle,uretprobe:./srv:handle   how long a function takes
  sdttrace list 'hotspot:*'                    which probes there are, and who watches them`

func newTraceCommand(stdout, stderr io.Writer) *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "sdttrace [flags] PROBE... [-- CMD ARG...]",
		Short: "Trace USDT probes",
		Long: `sdttrace attaches to USDT probes and prints an event each time one fires.

PROBE is [PATH:]PROVIDER:NAME; '*', '?' and [...] stand for any characters in
each part. Without -p and CMD, probes are traced in all processes, also those
that start later; a PATH with a '/', or the files that it names by '*', need not
be running yet. --rescan finds probes that appear while sdttrace runs; with
--wait sdttrace may start before any probe matches, and a PATH need not exist.
--comm and --exe wait for processes, too, and the kernel selects events by them.
-p selects processes with all their threads and whatever they execute, but
not their children; --exe and --comm select children, too.

uprobe:PATH:FUNC traces the entry of functions, uretprobe:PATH:FUNC their return.
FUNC is compared with symbols and, for C++ and Rust, with names as the source has
them, with the types of parameters or without. A PATH without '/' is a program or
library that runs or is installed. arg0, arg1 ... are the words that the
platform's calling convention, or Go's, passes; retval is the result. Their types
are not known: an argument that the function does not have shows what is left in
its register. sdttrace refuses returns where tracing them would crash the program:
in Go, and where C++ exceptions or Rust panics may pass. uprobe:PATH:FUNC+0x1f
traces one instruction, uprobe:PATH:0x401136 the one at that address in the file,
as objdump prints it. An instruction must begin there, and has no arguments.

sdttrace starts CMD, traces it without its children, and ends it if sdttrace has
to end first. CMD is stopped, as by SIGSTOP, after each exec and each time its
dynamic linker has mapped libraries, until their probes are attached to; where
that is not possible, sdttrace prints how late it attached. (A process
"usdt-guard" continues CMD if sdttrace is killed.) CMD's output goes to stderr,
and sdttrace fails if CMD fails. Signals are meant for CMD, which is traced until
it ends: at the first Ctrl-C, which the terminal sends to both, sdttrace waits for
CMD; the second one terminates CMD, the third kills it. sdttrace passes SIGTERM
and SIGHUP on, and the next one kills CMD.

--where compares arguments (by name, or as arg0, arg1 ...), pid, tid and comm
with constants: == != < <= > >=, for strings == != and ~ with a pattern in which
'*' stands for any characters; && || ! and parentheses combine. The kernel
tests the condition. Durations, times and addresses, as Go programs declare them,
are compared as such: 'took > 10ms', 'at > 2026-01-31', 'peer == "::1"' (times are
UTC unless they name a zone). A comparison with NaN, or with what cannot be read,
is false. The first 512 bytes of a string are compared. An untyped argument that
is compared with a string is read as a pointer to one, and shown as that string.
Parts of structs and arrays are named as in 'peer.port == 80 && scores[0] > 1'.

--count, --sum, --avg, --min, --max, --hist and --lhist aggregate events in the
kernel, all of them or by the values of --by, instead of printing each one. The
first 120 bytes of a string distinguish groups. --hist counts by powers of two,
--lhist in equal steps, with a bucket below LO and one from HI on. --interval
prints the groups and starts anew: every event is in one interval.

--latency START,END measures the time from one probe to the other in the kernel.
An end belongs to the last start that has none yet: of the same goroutine in Go,
of the same call of a function, or of the same thread; with --key id, where that
argument, which both probes have, is the same. A key is per process unless
machine is part of it: --key machine,id. --by groups by arguments of END or,
where END has none of that name, of START. --where tests each of the conditions
between && at the probes that have its arguments. Up to 32 starts nest; a start
whose end was skipped, by an exception or because its thread ended, is counted.
Numbers are nanoseconds in JSON; --lhist latency,0,10ms,500us replaces the powers
of two.

Events go to stdout, everything else to stderr. The last line on stderr reports
how many events there were, how many were lost because the buffer was full,
filtered by --where or left unread, and how many probe sites sdttrace attached
to. Ctrl-C, SIGTERM and SIGHUP end sdttrace with all results; a second signal,
sent at least a second later, ends it at once. Before sdttrace has attached to
anything, a signal ends it as it ends other programs: shells report 130 for
Ctrl-C. The exit code is 0 if sdttrace traced, or waited for what did not come,
1 if it could not trace or nothing matched, 2 for bad usage.`,
		Example: traceExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); f.aggregate.latency == "" && (len(args) == 0 || dash == 0) {
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
	flags.IntSliceVarP(&f.pids, "pid", "p", nil, "trace these processes only, until all have ended")
	flags.StringVar(&f.comm, "comm", "", "trace processes of this name only, also those that start later")
	flags.StringVar(&f.exe, "exe", "", "trace processes that run this file only, also those that start later")
	flags.StringVar(&f.where, "where", "", "trace only events for which this condition holds, e.g. 'arg0 > 5 && comm == \"x\"'")
	f.aggregate.register(flags)
	flags.StringVar(&f.format, "format", "text", "output format: text or json")
	flags.BoolVar(&f.json, "json", false, "same as --format json: one object a line")
	flags.Uint64Var(&f.limit, "limit", 0, "end after this many events")
	flags.DurationVar(&f.duration, "duration", 0, "end this long after the probes have been attached to, e.g. 10s")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only errors and the summary on stderr")
	flags.BoolVar(&f.wait, "wait", false, "wait for probes that match if there are none yet, such as those of a service that starts later")
	flags.DurationVar(&f.rescan, "rescan", time.Second, "how often to look for probes that appear later; 0 for never")
	flags.StringSliceVar(&f.strings, "str", nil, "arguments that are pointers to strings: argN, argN[argM] if argM is its length, argN->8 to follow the pointer 8 bytes behind; PROVIDER:NAME:argN for these probes only")
	flags.StringSliceVar(&f.pointers, "follow", nil, "pointers of typed probes to follow: peer, peer.next, '*', or PROVIDER:NAME:peer")
	flags.StringSliceVar(&f.args, "args", nil, "arguments of functions to print, with their types, e.g. arg0,arg1:uint8,retval:int32; none for none (default those in registers)")
	flags.IntVar(&f.maxString, "max-string", 0, "bytes to keep of each string (default 1024)")
	flags.Var(&f.ringSize, "buffer", "size of the buffer between kernel and sdttrace, e.g. 64M (default 4M)")
	flags.BoolVar(&f.force, "force", false, "attach even where that is known to harm the traced program, or the host")
	flags.StringVar(&f.link, "link", "auto", "how to attach: auto, multi or perf")
	flags.Lookup("link").Hidden = true
	cmd.Version = version.String()
	cmd.SetVersionTemplate("sdttrace {{.Version}}\n")
	flags.Bool("version", false, "print the version and exit")
	return cmd
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
	if _, err := os.Stat(f.exe); f.exe != "" && !f.wait && errors.Is(err, os.ErrNotExist) {
		return nil, usageError{fmt.Errorf("--exe: %w; --wait waits for it", err)}
	}
	if f.comm != "" || f.exe != "" {
		f.wait = f.wait || f.rescan > 0 // for the processes
	}
	if f.wait && f.rescan == 0 {
		return nil, usageError{errors.New("--wait needs --rescan, which finds what is waited for")}
	}
	opts := &attach.Options{
		Target:    attach.Target{PIDs: f.pids, Comm: f.comm, Exe: f.exe},
		Rescan:    f.rescan,
		Await:     f.wait,
		RingSize:  int(f.ringSize),
		MaxString: f.maxString,
		Strings:   f.strings,
		Follow:    f.pointers,
		Args:      f.args,
		Where:     f.where,
		Force:     f.force,
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
