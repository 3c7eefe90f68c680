package attach

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/symbols"
)

// Options say what is traced, and how, by [Open], [OpenAggregate] and all others that return a
// [Tracer]. The zero value, and nil, trace every process, now and later, that runs the objects
// found.
type Options struct {
	// Target says which processes are traced.
	Target Target

	// Strings names the arguments of untyped probes that are pointers to strings that
	// end in a NUL, "arg0", or whose length is another argument, "arg0[arg1]".
	// "arg0->8" follows a pointer that is 8 bytes behind what arg0 points to.
	// "PROVIDER:NAME:arg0", with globs, is for the probes that it names. Events
	// then hold the string, not the address. "retval" is for results of functions.
	// A string that a Go function gets has its length in the next argument.
	Strings []string
	// Follow names the pointers of typed probes that are followed to what they
	// point to, if the object describes it: "peer", "peer.next",
	// "PROVIDER:NAME:peer" for one probe only. In a name '*' stands for any
	// characters except '.', and follows twelve pointers at most. Other pointers
	// are shown as addresses. (Strings and slices need not be named.) Pointers to
	// values that Where asks for are also followed. For functions of the kernel, Follow
	// names members of what arguments point to, in full: "file.f_inode.i_ino".
	Follow []string

	// Prototypes has the names and types of arguments whose objects do not name them, such
	// as prototype.Known(); nil for none. Events, conditions and keys then have these
	// names beside arg0, arg1 …, and text without being named in Strings. An argument that
	// is the length of a text is left out of events. Strings, and what an object itself
	// says of its arguments, come first.
	Prototypes *prototype.Table

	// Args names the arguments of functions that events at their entry hold, and the
	// results that events at their return hold: "n", and members of structures as
	// "req.port", by debugging information, or "arg0", "arg1" …, the words in which the
	// platform's calling convention passes them. If Args is empty, events hold the
	// arguments that debugging information has or, without it, all words that can be in
	// registers; with "none", only arguments that Strings names. A type may follow a
	// word or "retval": int8 to int64 and uint8 to uint64, as in "retval:int32" for a C
	// function that returns an int, which fills only a part of a register. A word
	// that has no type is a signed integer, or unsigned if it has 32 bits. At lines of
	// source files, Args names variables in scope. "arg0:struct conn*" says that an argument,
	// also of a probe whose object does not describe it, is the address of a value with a type
	// of the program's debugging information: events hold its members as "conn.port", only the
	// named ones if Args names some. Another name follows the type as in C, "arg0:struct conn *peer", and
	// "arg1:enum mode" gives a number a type.
	Args []string

	// Stack is the largest number of addresses in the stacks of events and of groups by
	// stack, see [event.Stack]. 0 means none, or all for groups by stack. [MaxStack] is the
	// most, or [MaxUnwound] with Unwind. The kernel follows frame pointers, which Go has,
	// and C, C++ and Rust if they are compiled with -fno-omit-frame-pointer or -C
	// force-frame-pointers. To name the code of processes that end, the kernel reports what all
	// processes map. With PIDs the session keeps what those map, with Children also what these start, and
	// drops the rest: 30 to 45 µs for each process that others start. It keeps what any process maps
	// if there are no PIDs, since Comm, Exe and Cgroup select events only. A process that shares memory follows its
	// own. Files of
	// [Target.Recordings] have stacks if a [Recorder] had this option; flight recorders
	// keep none. At functions of the kernel, the kernel's calls precede the program's, also with
	// Unwind, and both are read as the kernel finds them.
	Stack int
	// Unwind says that the kernel copies the top of the stack instead, 12 to 16 KiB of it.
	// Callers are then found here, as [symbols.Space.Unwind] does, by the tables that
	// compilers write for exceptions and debuggers (.eh_frame). Code without frame pointers
	// needs that, as most of Debian's C and C++ does. An event takes that much of the buffer,
	// see RingSize. Unwind needs Stack. On arm64 it finds no callers of probes that Go
	// declares; Stack alone does.
	Unwind bool
	// Resolver names the code of stacks; nil for one that the session makes and closes. Sessions with
	// one Resolver read the symbols of each file once, within one bound on memory. Close it after them.
	Resolver *symbols.Resolver

	// Where is a condition on the arguments of probes, such as
	//
	//	status >= 500 && path ~ "/api/*" && comm != "curl"
	//
	// that the kernel, or a process that shares memory, tests before it records an
	// event; empty means none. It compares arguments (by name or, always, as arg0 …), pid,
	// tid, cpu, uid, comm, cgroup, container and pod with constants by == != < <= > >=, and combines by && || !
	// and parentheses. Strings are compared by == and !=, and by ~ with a pattern in which
	// '*' stands for any characters; their first 512 bytes are compared. An argument of an
	// untyped probe that can be an address is followed to a string if it is compared with
	// one; events also have that string. A number that Prototypes knows as that of an
	// enumeration is also compared with its names by == and !=. path[:16] is the beginning
	// of a string. A control group that is new is compared as soon as this process has seen it,
	// within milliseconds, and passes no comparison before; each rescan looks for new ones.
	//
	// Integers and durations are computed with: + - * / % & << and >> bind as in Go.
	// Results have 64 bits and wrap around. An operation is signed if one of its operands
	// is, and what it subtracts to is signed. Quotients are rounded towards zero, a
	// remainder has the sign of what is divided, and a shift by 64 or more leaves nothing
	// but the sign. Durations are nanoseconds; floating-point numbers, times and bools are
	// not computed with. A quotient or remainder by zero counts as a value that cannot be
	// read.
	//
	// A comparison with an argument that cannot be read, or with a NaN, is false,
	// also by !=. A probe that does not have a name, or has it with another type
	// than the constant's, is left out of the session, and [Site.Reason] says so:
	// programs of several versions have several of one name. If no probe of a
	// selector is left, Open returns a [*WhereError], as it does if the comparisons
	// exceed what a BPF program may hold.
	Where string

	// Rescan is how often probes are looked for that were not there before:
	// in libraries loaded since, in programs that declare probes when
	// they run, and without PIDs in processes started since. 0 means
	// never. Where the kernel reports what processes map, which takes CAP_PERFMON, new
	// files are found within milliseconds of their first mapping, and a rescan finds what
	// the reports miss. (A process started later that runs a file which has been found is
	// traced from its beginning in any case, unless PIDs exclude it.)
	Rescan time.Duration
	// Await has Open succeed if no probe matches yet. It needs Rescan. Tracing fails, as Open would,
	// if the first probes that a selector names lack what is asked of them, such as an argument of Where or a key:
	// Events, Views, All, Snapshots, Read, Total and Write return the error. With PIDs,
	// files that selectors name by path are attached to whether the processes have
	// mapped them or not; their probes fire once they have.
	Await bool

	// Force attaches also where that is known to harm the program, or where a site
	// is known to stay silent; see [Site.Reason].
	Force bool
	// Link chooses the kernel's mechanism.
	Link LinkKind
}

// LinkKind is a mechanism by which programs are attached.
type LinkKind int

const (
	// AutoLink is MultiLink where the kernel has it, and PerfLink otherwise.
	AutoLink LinkKind = iota
	// MultiLink is one uprobe_multi link for many sites, from Linux 6.6 on.
	MultiLink
	// PerfLink is a perf event for each site. Detaching takes the kernel about
	// 0.1 s per site. The perf event of a chosen process belongs to its first
	// thread: once that has ended, the site fires no more.
	PerfLink
)

func (k LinkKind) String() string { return link.Kind(k).String() }

// settings are checked options, with what they mean.
type settings struct {
	Options
	EventOptions
	interval     time.Duration    // of aggregates of recordings
	condition    *filter.Expr     // Where
	on           *filter.Expr     // On
	functionArgs argument.Wanted  // Args
	strings      []bind.StringArg // Strings
	recorded     bool             // events are recorded, and added up here instead of by the kernel
	tests        bool             // the kernel tests conditions of such events
	keep         bool             // events are recorded for a file
	spanned      bool             // events come from Spans:
	events       int              // how many of the selectors are of events
	keys         []string         // of spans
}

// Validate checks the options without looking at processes and files. The error is
// an [*OptionError], which wraps a [*WhereError] if it is about Where; it names an
// option that Open could not use for any probe. o may be nil.
func (o *Options) Validate() error {
	_, err := o.settings(nil)
	return err
}

// Restricted returns the options with a condition beside their own, which hold if both do; the options
// themselves without one.
func (o *Options) Restricted(where string) *Options {
	if where == "" {
		return o
	}
	out := *o
	if out.Where != "" {
		where = "(" + out.Where + ") && (" + where + ")"
	}
	out.Where = where
	return &out
}

// used returns the settings for options whose processes exist, and for event options.
func (o *Options) used(events *EventOptions) (*settings, error) {
	out, err := o.settings(events)
	if err != nil {
		return nil, err
	}
	if err := out.Target.exist(); err != nil {
		return out, err
	}
	return out, out.spares()
}

// settings returns the settings for o and events, which may be nil.
func (o *Options) settings(events *EventOptions) (*settings, error) {
	fail := func(option string, err error) (*settings, error) { return nil, &OptionError{option, err} }
	out := &settings{}
	if o != nil {
		out.Options = *o
	}
	if events != nil {
		out.EventOptions = *events
	}
	if err := out.checkStack(); err != nil {
		return fail("Stack", err)
	}
	if err := out.checkEvents(); err != nil {
		return nil, err
	}
	if err := link.Kind(out.Link).Check(); err != nil {
		return fail("Link", err)
	}
	for _, name := range out.Follow {
		if name == "" || strings.HasSuffix(name, ":") {
			return fail("Follow", fmt.Errorf("%q names no pointer", name))
		}
		if pointer := name[strings.LastIndexByte(name, ':')+1:]; strings.ContainsFunc(pointer, unicode.IsSpace) || slices.Contains(strings.Split(pointer, "."), "") {
			return fail("Follow", fmt.Errorf("%q names no pointer: want names of arguments and members, between dots", name))
		}
		if _, err := path.Match(bind.Slashed(name), ""); err != nil {
			return fail("Follow", fmt.Errorf("%q: %w", name, err))
		}
	}
	var err error
	if out.strings, err = bind.ParseStrings(out.Strings); err != nil {
		return fail("Strings", err)
	}
	if out.Where != "" {
		if out.condition, err = parseWhere(out.Where); err != nil {
			return fail("Where", err)
		}
		out.strings = append(out.strings, bind.ConditionStrings(out.condition)...)
	}
	if out.On != "" {
		if out.on, err = parseWhere(out.On); err != nil {
			return fail("On", err)
		}
		out.strings = append(out.strings, bind.ConditionStrings(out.on)...)
	}
	if out.functionArgs, err = argument.Parse(out.Args); err != nil {
		return fail("Args", err)
	}
	if err := checkRescan(out.Rescan, out.Await); err != nil {
		return nil, err
	}
	out.Target, err = out.Target.checked()
	if out.Signal.Number != 0 || out.Ring != nil || out.Then != nil {
		out.Target.Via = ViaKernel
	}
	return out, err
}

// checkRescan returns what is wrong with options of these names.
func checkRescan(rescan time.Duration, await bool) error {
	if rescan < 0 || await && rescan == 0 {
		return &OptionError{"Rescan", fmt.Errorf("%v is not positive, and Await needs it", rescan)}
	}
	return nil
}

// MaxStack is the largest [Options.Stack].
const MaxStack = record.MaxStack

// MaxUnwound is the largest [Options.Stack] with Unwind.
const MaxUnwound = 1024

// checkStack returns why the option Stack cannot be used.
func (o *Options) checkStack() error {
	most := MaxStack
	if o.Unwind {
		most = MaxUnwound
	}
	switch {
	case o.Stack < 0 || o.Stack > most:
		return fmt.Errorf("%d is not between 0 and %d addresses", o.Stack, most)
	case o.Stack == 0 && o.Unwind:
		return errors.New("0 asks for no stacks, and Unwind is for them")
	case o.Unwind && len(o.Target.Recordings) > 0:
		return errors.New("how stacks are read was decided when they were recorded")
	}
	return nil
}
