package link

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// refusal is what an error of the kernel means for kinds of links.
type refusal struct {
	err   error
	kinds []Kind // nil for all of them
	whole bool   // it concerns all sites of a group
	says  string // what is wrong, and what to do
}

var (
	user        = []Kind{Multi, Perf}
	functions   = []Kind{KernelMulti, KernelPerf}
	tramps      = []Kind{TrampolineMany, TrampolineOne}
	tracepoints = []Kind{Tracepoint}
)

const (
	untraceable = "the kernel does not let this function be traced, or its module is gone: trace a function that calls it"
	unpatchable = "ftrace does not patch it, so no trampoline can be put there: trace a function that calls it"
	noLinks     = "this kernel has no links of this kind: take another kind of link, or of probe"
	noResult    = "this kernel's trampolines do not pass on a result of its size, or that many arguments: trace it by kprobe: instead"
)

// refusals has a line for each error with which a kernel refuses to attach, the ones of some kinds before the ones
// of all. Missing privileges and files are not among them: see
// [attempt.wholeError]. docs/requirements.md has the same table.
var refusals = []refusal{
	{unix.EINVAL, user, false, "the kernel refused the site; another tracer may hold it with another semaphore: end that tracer"},
	{enotsupp, user, false, "the kernel cannot probe the instruction at the site: trace another one by FUNC+OFFSET"},
	{unix.ENOEXEC, user, false, "the kernel does not know the instruction at the site: trace another one by FUNC+OFFSET"},
	{unix.EIO, user, true, "the kernel cannot read the code from the file's file system: copy the file to another one"},
	{unix.EBADF, user, true, "it is no regular file, in which alone the kernel puts probes"},

	{unix.EINVAL, functions, false, untraceable},
	{unix.ENOENT, functions, false, untraceable},
	{unix.ESRCH, functions, false, untraceable},
	{unix.EADDRNOTAVAIL, functions, false, untraceable},
	{unix.EILSEQ, functions, false, untraceable},
	{unix.EBUSY, functions, false, "a live patch holds the function's code: trace a function that calls it"},

	{unix.EINVAL, tramps, false, "no trampoline can be put there: trampolines use it themselves, it never returns, or its arguments are too many or too large: trace it by kprobe: instead"},
	{unix.ENOENT, tramps, false, unpatchable},
	{unix.EADDRNOTAVAIL, tramps, false, unpatchable},
	{unix.EOPNOTSUPP, tramps, false, noResult},
	{enotsupp, tramps, false, noResult},
	{unix.EBUSY, tramps, false, "the program is attached to it already, or something else has changed its code: trace it by kprobe: instead"},
	{unix.E2BIG, tramps, false, "it has as many programs as its trampoline takes: end another tracer, or trace it by kprobe: instead"},
	{unix.EAGAIN, tramps, false, "the kernel is changing the function's code for a live patch or another tracer: try again"},
	{unix.ENODEV, tramps, false, "its module is being unloaded: trace it once the module is loaded again"},

	{unix.EEXIST, tracepoints, false, "the program is attached to this tracepoint already, where the kernel runs it once"},
	{unix.E2BIG, tracepoints, false, "as many programs are attached to this tracepoint as the kernel runs there: end another tracer"},
	{unix.EINVAL, tracepoints, false, "the kernel does not let programs be attached to this tracepoint, or its module is gone: sdttrace list names others"},
	{unix.ENOENT, tracepoints, false, "the kernel does not let programs be attached to this tracepoint, or its module is gone: sdttrace list names others"},

	{unix.EMFILE, nil, true, "this process has as many files open as it may: raise the limit (ulimit -n), or trace less"},
	{unix.ENFILE, nil, true, "this machine has as many files open as it may: raise fs.file-max, or end other programs"},
	{unix.ENOMEM, nil, true, "the kernel has no memory for it: trace less, or end other programs"},
	{unix.ENOSPC, nil, true, "the kernel has no place left for it: end other tracers"},
	{unix.E2BIG, nil, true, "it is more than the kernel attaches at a time: trace less"},
	{unix.EINTR, nil, true, "a signal interrupted the kernel: try again"},
	{unix.EAGAIN, nil, true, "the kernel lacks something for the moment: try again"},
	{unix.EBUSY, nil, false, "something else holds it: end other tracers, or try again"},
	{unix.ENODEV, nil, false, "its module is gone: sdttrace list names others"},
	{unix.EOPNOTSUPP, nil, true, noLinks},
	{enotsupp, nil, true, noLinks},
	{ebpf.ErrNotSupported, nil, true, noLinks},
	{unix.EBADF, nil, true, "a descriptor that attaching needs was closed: this is a fault of the tracer"},
	{unix.EIO, nil, true, "the kernel could not change the code: the kernel's log may say why"},
}

// refusalOf returns what an error means for a kind of link, nil if that is not known.
func refusalOf(k Kind, err error) *refusal {
	for i := range refusals {
		if r := &refusals[i]; errors.Is(err, r.err) && (r.kinds == nil || slices.Contains(r.kinds, k)) {
			return r
		}
	}
	return nil
}

// explain says what an error means for a kind of link, and what to do.
func (k Kind) explain(err error) error {
	if r := refusalOf(k, err); r != nil {
		return fmt.Errorf("%s: %w", r.says, err)
	}
	return err
}

// LoadRefusal says why a program could not be loaded for the only function that it can be attached to; nil if the
// function is not the reason.
func LoadRefusal(err error) error {
	if !ofFunction(err) || errors.Is(err, unix.E2BIG) || errors.Is(err, unix.EAGAIN) { // the program is too long, or a signal came
		return nil
	}
	return TrampolineOne.explain(err)
}
