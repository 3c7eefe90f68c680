package attach

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"path"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// Options change how probes are attached. The zero value, and nil, attach to
// every process, now and later, that runs the objects found.
type Options struct {
	// PIDs restricts probes and events to these processes, by the ids that they
	// have in this process's PID namespace. Events ends when all of them have
	// ended. Beyond 8 of them, other processes that run the same files are slowed
	// down, too, though they give no events.
	PIDs []int
	// Comm and Exe restrict events to processes of this name, which is that of
	// their first thread, and to those that run the file at this path, without
	// PIDs: those that start later as well as those that are there. The kernel
	// tells them apart when a probe fires, so that a process which gets a name, or
	// executes the file, is one of them from then on. With Await the file need not
	// exist yet; with Rescan it is the one that its path leads to by then.
	Comm, Exe string

	// RingSize is the size in bytes of the buffer between the kernel and this
	// program, rounded up to a power of two; 0 means 4 MiB. When it is full,
	// events are dropped and counted.
	RingSize int
	// MaxString is the number of bytes that events keep of each string or byte
	// slice; 0 means 1024. Records with several strings may keep fewer.
	MaxString int
	// Strings names the arguments of untyped probes that are pointers to
	// text that ends in a NUL, "arg0", or whose length is another argument,
	// "arg0[arg1]". "arg0->8" follows a pointer that is 8 bytes behind what arg0
	// points to. "PROVIDER:NAME:arg0", with globs, is for these probes only.
	// Events then hold the text, not the address. "retval" is for results of
	// functions. Text that Go functions get has its length in the next argument.
	Strings []string
	// Follow names the pointers of typed probes that are followed to what they
	// point to, if the object describes it: "peer", "peer.next", "PROVIDER:NAME:peer"
	// for one probe only. In a name '*' stands for any characters, but not for
	// '.', and follows twelve pointers at most. Other pointers are addresses.
	// (Strings and slices need not be named.) What is asked for in Where is
	// followed, too.
	Follow []string

	// Args names the arguments that events hold of functions at their entry:
	// "arg0", "arg1" …, by the words in which the platform's calling convention
	// passes them. With none of these they are all that can be in registers; with
	// "none" there are no others than Strings names. A type may follow, also to
	// "retval": int8 to int64 and uint8 to uint64, as in "retval:int32" for a C
	// function that returns an int, of which a register holds only a part. Without
	// it a word is a signed integer, or unsigned if it has 32 bits.
	Args []string

	// Where is a condition on the arguments of probes, such as
	//
	//	status >= 500 && path ~ "/api/*" && comm != "curl"
	//
	// that the kernel tests before it records an event; empty means none. It
	// compares arguments (by name or, always, as arg0 …), pid, tid and comm
	// with constants by == != < <= > >=, and combines by && || ! and
	// parentheses. Text is compared by == and !=, and by ~ with a pattern in
	// which '*' stands for any characters; its first 512 bytes are looked at.
	// An argument that an untyped probe declares as an address is followed to
	// text if it is compared with text, and is that text in events, too.
	//
	// Comparing an argument that cannot be read, or a float that is NaN, is
	// false, != included. A probe that does not have a name, or has it with
	// another type than the constant's, is left out of the session, and
	// [Site.Reason] says so: programs of several versions have several of one
	// name. If no probe of a selector is left, Open returns a [*WhereError], as
	// it does for more comparisons than a BPF program has room or time for.
	Where string

	// Rescan is how often probes are looked for that were not there before:
	// those of libraries loaded since, of programs that declare probes when
	// they run, and without PIDs those of processes started since. 0 means
	// never. (A process started later that runs a file which has been found is
	// traced from its beginning in any case, unless PIDs exclude it.)
	Rescan time.Duration
	// Await makes it no error if no probe matches yet. It needs Rescan. With PIDs,
	// what selectors name by path is attached to whether the processes have it
	// mapped or not, and fires when they do.
	Await bool

	// Force attaches to sites that attaching is known to harm, or that are
	// known to stay silent; see [Site.Reason].
	Force bool
	// Link chooses the kernel's mechanism.
	Link LinkKind

	// Cookie is what bpf_get_attach_cookie returns in a program given to
	// [Probe] or [Probes], and bpf_usdt_cookie in those of a [Collection].
	Cookie uint64
	// Cookies are used by [Probes] in place of Cookie if not empty: one for
	// each probe.
	Cookies []uint64

	// Context, when it is done, ends Open, which then returns its cause, or
	// Events, after the events that have fired until then, and detaches what a
	// [Collection] has attached; nil means never.
	Context context.Context

	// PrivateStack leaves a stack per CPU to programs of a [Collection], as Linux
	// 6.13 and later give it to those that use 64 bytes or more. Two tasks may run
	// such a program at a time on a CPU, and overwrite what the other has stored.
	// Without this option a tail call is put in front that is never made, which
	// keeps them on the stack of the task, and [Site.Notes] say so.
	PrivateStack bool
	// Collection is how [LoadCollection] and [NewCollection] load: pinned maps,
	// maps in place of others, the verifier's log.
	Collection ebpf.CollectionOptions

	condition    *filter.Expr // Where
	functionArgs functionArgs // Args
	texts        []textArg    // Strings
}

// LinkKind is a mechanism by which programs are attached.
type LinkKind int

const (
	// AutoLink is MultiLink where the kernel has it, else PerfLink.
	AutoLink LinkKind = iota
	// MultiLink is one uprobe_multi link for many sites, from Linux 6.6 on.
	MultiLink
	// PerfLink is a perf event for each site. Detaching takes the kernel about
	// 0.1 s per site.
	PerfLink
)

func (k LinkKind) String() string {
	switch k {
	case AutoLink:
		return "auto"
	case MultiLink:
		return "uprobe_multi"
	case PerfLink:
		return "perf event"
	}
	return fmt.Sprintf("LinkKind(%d)", int(k))
}

const (
	defaultRingSize  = 4 << 20
	maxRingSize      = 1 << 30
	defaultMaxString = 1024
	maxMaxString     = 8 << 10
)

// withDefaults returns a copy of o, which may be nil, that is checked and whose
// processes exist.
func (o *Options) withDefaults() (Options, error) {
	out, err := o.checked()
	if err != nil {
		return out, err
	}
	for _, pid := range out.PIDs {
		if err := checkProcess(pid); err != nil {
			return out, err
		}
	}
	return out, nil
}

// checked returns a checked copy of o, which may be nil.
func (o *Options) checked() (Options, error) {
	fail := func(option string, err error) (Options, error) { return Options{}, &OptionError{option, err} }
	var out Options
	if o != nil {
		out = *o
	}
	switch {
	case out.RingSize < 0 || out.RingSize > maxRingSize:
		return fail("RingSize", fmt.Errorf("%d is not between 0 and %d bytes", out.RingSize, maxRingSize))
	case out.RingSize == 0:
		out.RingSize = defaultRingSize
	}
	out.RingSize = max(1<<bits.Len(uint(out.RingSize-1)), os.Getpagesize())
	switch {
	case out.MaxString < 0 || out.MaxString > maxMaxString:
		return fail("MaxString", fmt.Errorf("%d is not between 0 and %d bytes", out.MaxString, maxMaxString))
	case out.MaxString == 0:
		out.MaxString = defaultMaxString
	}
	for _, name := range out.Follow {
		if _, err := path.Match(slashed(name), ""); err != nil {
			return fail("Follow", fmt.Errorf("%q: %w", name, err))
		}
	}
	if out.Context == nil {
		out.Context = context.Background()
	}
	var err error
	if out.texts, err = parseTexts(out.Strings); err != nil {
		return fail("Strings", err)
	}
	if out.Where != "" {
		expr, err := parseWhere(out.Where)
		if err != nil {
			return out, err
		}
		out.condition = expr
		out.texts = append(out.texts, whereTexts(expr)...)
	}
	if err := out.checkSelection(); err != nil {
		return fail("Comm", err)
	}
	if out.Rescan < 0 || out.Await && out.Rescan == 0 {
		return fail("Rescan", fmt.Errorf("%v is not positive, as it must be with Await", out.Rescan))
	}
	args, err := parseFunctionArgs(out.Args)
	if err != nil {
		return fail("Args", err)
	}
	out.functionArgs = args
	for _, pid := range out.PIDs {
		if pid <= 0 {
			return fail("PIDs", fmt.Errorf("%d is not positive", pid))
		}
	}
	out.PIDs = slices.Compact(slices.Sorted(slices.Values(out.PIDs)))
	return out, nil
}
