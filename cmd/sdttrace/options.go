package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cgroup"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cost"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/procfs"
)

// traceFlags are the flags that verbs share, and what is known of one run.
type traceFlags struct {
	// Selection of processes and probes.
	pids      []int
	children  bool
	comm, exe string
	group     string // a control group, as --cgroup names it
	cgroup    string // its directory, by which the kernel selects, or a pattern
	container string
	pod       string
	sought    cgroup.Sought // by these three
	user      bool
	wait      bool
	rescan    time.Duration
	force     bool
	link      string
	from      []string
	base      string          // the recording with which that of from is compared
	before    recording.Named // that of base
	part      recording.Part  // of that of from
	command   []string        // behind "--"

	// Selection of events and of their parts.
	where     string
	events    attach.EventOptions
	limit     uint64
	duration  time.Duration
	strings   []string
	args      []string
	pointers  []string
	providers []string
	stack     flagvalue.Stack

	// Form of the output.
	formats []string // that the verb has
	format  string
	json    bool
	output  *format.Format // of that name, if it is one for text
	out     string         // a file
	quiet   bool
	verbose bool

	flags    *pflag.FlagSet
	given    func(name string) bool
	replayed *recording.Set // the recordings; nil of live processes
	meanings format.Meanings
	costs    *cost.Costs // nil unless they are measured
	silent   remark.Silences
	outputs  output.Files
	prepared func()           // says that something is attached, or nothing will be
	held     *command.Command // once it has been started

	inBackground bool   // the command has no terminal
	declared     bool   // whether probes are traced that programs declare, and not only functions
	taken        uint64 // snapshots
}

func newTraceFlags() *traceFlags {
	return &traceFlags{link: "auto", format: "text", rescan: time.Second}
}

// options returns what is attached to, and how.
func (f *traceFlags) options() (*attach.Options, error) {
	if err := flagvalue.CheckPIDs(f.pids); err != nil {
		return nil, usageError{err}
	}
	if len(f.command) > 0 && len(f.pids) > 0 {
		return nil, usageError{errors.New("-p and a command exclude each other")}
	}
	if _, err := procfs.Stat(f.exe); f.exe != "" && !f.wait && errors.Is(err, os.ErrNotExist) {
		return nil, usageError{fmt.Errorf("--exe: %w; --wait waits for it", err)}
	}
	if f.comm != "" || f.exe != "" || f.group != "" || f.container != "" || f.pod != "" {
		f.wait = f.wait || f.rescan > 0 // for the processes
	}
	group, err := cgroup.Open(f.group, true, f.given("wait"))
	switch {
	case err != nil:
		return nil, usageError{err}
	case group != nil && group.Pattern:
		f.cgroup = group.Path
	case group != nil && !group.InKernel():
		return nil, usageError{fmt.Errorf("--cgroup: the kernel cannot select by %s, whose hierarchy is not mounted whole, or has no controller such as pids; top can", group.Path)}
	case group != nil:
		f.cgroup = group.Dir
	}
	f.sought.Selector = container.Selector{Container: f.container, Pod: f.pod}
	if container.IsGlob(f.cgroup) {
		f.sought.Selector.Glob = f.group
	}
	if f.wait && f.rescan == 0 {
		return nil, usageError{errors.New("--wait needs --rescan, which finds what is waited for")}
	}
	opts := &attach.Options{
		Target: attach.Target{PIDs: f.pids, Children: f.children && len(f.pids) > 0, Comm: f.comm, Exe: f.exe, Cgroup: f.cgroup, Container: f.container, Pod: f.pod},
		Rescan: f.rescan, Await: f.wait, Force: f.force,
		Strings: f.strings, Follow: f.pointers, Args: f.args, Where: f.where,
		Stack: f.stack.Calls, Unwind: f.stack.Unwind,
	}
	if opts.Prototypes, err = f.prototypes(); err != nil {
		return nil, err
	}
	switch {
	case f.replayed != nil:
		opts.Target = attach.Target{Recordings: f.replayed.Files}
	case f.user:
		opts.Target.Via = attach.ViaLocal
	}
	if f.link != "auto" && opts.Target.Via == attach.ViaAny {
		opts.Target.Via = attach.ViaKernel
	}
	kind := slices.Index(word.Links, f.link)
	if kind < 0 {
		return nil, usageError{fmt.Errorf("link %q is not %s", f.link, word.LinkChoice)}
	}
	opts.Link = attach.LinkKind(kind)
	return opts, nil
}

// recorded returns which events are written to a file.
func (f *traceFlags) recorded() *attach.RecordOptions {
	return &attach.RecordOptions{RingSize: f.events.RingSize, MaxString: f.events.MaxString, Sample: f.events.Sample}
}

// intervals returns by which time groups of recordings are divided, if they are read so often.
func (f *traceFlags) intervals(every time.Duration) time.Duration {
	if f.replayed == nil {
		return 0
	}
	return every
}

// buffer returns the size of the buffer between the kernel and sdttrace, as text.
func (f *traceFlags) buffer() string {
	switch {
	case f.events.RingSize != 0:
		return (*flagvalue.Bytes)(&f.events.RingSize).String()
	case f.stack.Unwind:
		return "64M"
	}
	return "4M"
}

// liveWords say what recordings cannot be asked.
var liveWords = []string{"pid", "children", "comm", "exe", "cgroup", "container", "pod", "user", "wait", "rescan", "force", "link", "sample", "duration", "str", "args", "follow", "buffer", "stop", "signal"}
