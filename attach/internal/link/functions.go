package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/privilege"
)

// Functions are functions of the kernel, or of one of its modules, to attach to by trampolines,
// which the kernel puts where ftrace patches a function.
type Functions struct {
	Module string // as errors name it: "vmlinux" for the kernel itself
	When   When
	List   []Function

	// Load returns the program for the function with an id, or with 0 the one for links of many
	// functions, loaded with When's attach type for these: attach_btf_id is 0 then, and
	// attach_btf_obj_fd is the module's. Each is called for once, and belongs to the link.
	Load func(id uint32) (*ebpf.Program, error)
	// Unpatched are ids of functions in the same BTF that ftrace does not patch, such as the
	// functions that only a starting kernel runs. They make it possible to find refused functions without
	// attaching, see refused.go; the more, and the higher, the better. Nobody asks for them if none is
	// refused. nil if none are known.
	Unpatched func() []uint32
}

// Function is a function of the kernel.
type Function struct {
	ID uint32 // of its BTF_KIND_FUNC
	// Address is where ftrace patches it, as available_filter_functions_addrs has it. If several
	// functions share a name, the kernel takes the first one in /proc/kallsyms.
	Address uint64
	Cookie  uint64 // what bpf_get_attach_cookie returns
}

// AliasError is the error for a function with the code of another one, to which the program is
// attached. Linux 7.3.4 panics soon after a link is closed that has two ids of one address.
type AliasError struct{ Of uint32 } // the id of the other one

func (e *AliasError) Error() string {
	return fmt.Sprintf("it has the code of another function, BTF id %d, which is attached to", e.Of)
}

// errNoAddress is the error for a function that may have the code of another one.
var errNoAddress = errors.New("where ftrace patches it is not known, and two names of one function must not be attached to")

// functionsAttempt is the state of attaching to functions.
type functionsAttempt struct {
	*Functions
	calls    FunctionCalls
	links    []Link
	outcomes []error // by function: nil if it is attached to
}

// near is less than the distance of two functions: where one is patched, it may be that the other,
// an alias, is said to be patched at the beginning.
const near = 8

// distinct returns the indices of functions of which no two have the same code, by id.
func (a *functionsAttempt) distinct() []int {
	left := make([]int, 0, len(a.List))
	for i := range a.List {
		if a.List[i].Address == 0 {
			a.outcomes[i] = errNoAddress
			continue
		}
		left = append(left, i)
	}
	slices.SortFunc(left, func(i, j int) int {
		return cmp.Or(cmp.Compare(a.List[i].Address, a.List[j].Address), cmp.Compare(a.List[i].ID, a.List[j].ID))
	})
	kept := left[:0]
	for _, i := range left {
		if n := len(kept); n > 0 && a.List[i].Address-a.List[kept[n-1]].Address < near {
			a.outcomes[i] = &AliasError{Of: a.List[kept[n-1]].ID}
			continue
		}
		kept = append(kept, i)
	}
	slices.SortFunc(kept, func(i, j int) int { return cmp.Compare(a.List[i].ID, a.List[j].ID) })
	return kept
}

// wholeError returns what an error that concerns all functions says.
func (a *functionsAttempt) wholeError(err error) error {
	return privilege.Explain("attach to functions of "+a.Module, TrampolineMany.explain(err))
}

// ofFunction reports whether an error may be one function's.
func ofFunction(err error) bool {
	r := refusalOf(TrampolineMany, err)
	return r != nil && !r.whole
}

// MaxSingle is how many functions are attached to by a link of each one's own, which takes the
// kernel 0.1 s to make and to close on a slow machine.
const MaxSingle = 100

// attachSingle attaches to each function by a link of its own.
func (a *functionsAttempt) attachSingle(ctx context.Context, left []int) error {
	for _, i := range left {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		fn := &a.List[i]
		prog, err := a.Load(fn.ID)
		if err != nil {
			if whole := privilege.Explain("load a program for a function of "+a.Module, err); !ofFunction(err) && !errors.Is(err, ebpf.ErrNotSupported) {
				return whole
			}
			a.outcomes[i] = TrampolineMany.explain(err)
			continue
		}
		fd, err := a.calls.LinkFunction(prog, a.When, fn.Cookie)
		switch {
		case err == nil:
			a.outcomes[i] = nil
			a.links = append(a.links, Link{Prog: prog, fd: fd, event: -1})
			continue
		case ofFunction(err):
			a.outcomes[i] = errors.Join(TrampolineMany.explain(err), prog.Close())
		default:
			return errors.Join(a.wholeError(err), prog.Close())
		}
	}
	return nil
}

// attachMany attaches by links of many functions.
func (a *functionsAttempt) attachMany(ctx context.Context, left []int) error {
	prog, err := a.Load(0)
	if err != nil {
		return privilege.Explain("load a program for functions of "+a.Module, err)
	}
	if len(left) <= maxMulti { // a kernel that refuses none need not be asked about some
		whole, err := a.attachWhole(ctx, prog, left)
		if whole || err != nil {
			return err
		}
	}
	if left, err = a.withoutRefused(ctx, prog, left); err == nil {
		for start, end := range chunks(len(left)) {
			if err = a.attachPart(ctx, prog, left[start:end]); err != nil {
				break
			}
		}
	}
	if len(a.links) == 0 {
		err = errors.Join(err, prog.Close())
	}
	return err
}

// attachWhole attaches by one link, and reports whether the kernel refused none of the functions.
func (a *functionsAttempt) attachWhole(ctx context.Context, prog *ebpf.Program, all []int) (whole bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, errors.Join(err, prog.Close())
	}
	fd, err := a.link(prog, all)
	switch {
	case err == nil:
		if err = a.keep(prog, fd, all); err == nil {
			return true, nil
		}
	case ofFunction(err):
		return false, nil
	default:
		err = a.wholeError(err)
	}
	return false, errors.Join(err, prog.Close())
}

// keep keeps a link that has been made for functions.
func (a *functionsAttempt) keep(prog *ebpf.Program, fd int, part []int) error {
	if err := a.compare(fd, part); err != nil {
		return errors.Join(err, shield.Close(fd))
	}
	for _, i := range part {
		a.outcomes[i] = nil
	}
	a.links = append(a.links, Link{Prog: prog, fd: fd, event: -1})
	return nil
}

// attachPart attaches by one link. If the kernel refuses it, each half gets its own.
func (a *functionsAttempt) attachPart(ctx context.Context, prog *ebpf.Program, part []int) error {
	if len(part) == 0 {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	fd, err := a.link(prog, part)
	switch {
	case err == nil:
		return a.keep(prog, fd, part)
	case !ofFunction(err):
		return a.wholeError(err)
	case len(part) == 1:
		a.outcomes[part[0]] = TrampolineMany.explain(err)
		return nil
	}
	middle := len(part) / 2
	if err := a.attachPart(ctx, prog, part[:middle]); err != nil {
		return err
	}
	return a.attachPart(ctx, prog, part[middle:])
}

// link makes a link of some functions, and of ids behind them.
func (a *functionsAttempt) link(prog *ebpf.Program, part []int, behind ...uint32) (fd int, err error) {
	ids, cookies := make([]uint32, 0, len(part)+len(behind)), make([]uint64, len(part)+len(behind))
	for k, i := range part {
		ids, cookies[k] = append(ids, a.List[i].ID), a.List[i].Cookie
	}
	return a.calls.LinkFunctions(prog, a.When, append(ids, behind...), cookies)
}

// compare returns an error if a link is not for the functions that it was made for. A function may
// share its name with another, and the kernel then takes the other's address.
func (a *functionsAttempt) compare(fd int, part []int) error {
	ids, addresses, err := a.calls.FunctionsOf(fd, len(part))
	if err != nil {
		return fmt.Errorf("compare a link with what it was made for: %w", err)
	}
	if len(ids) != len(part) {
		return fmt.Errorf("a link for %d functions of %s has %d", len(part), a.Module, len(ids))
	}
	index := make(map[uint32]int, len(part))
	for _, i := range part {
		index[a.List[i].ID] = i
	}
	for k, id := range ids {
		i, ok := index[id]
		if !ok {
			return fmt.Errorf("a link for functions of %s has BTF id %d, which it was not made for", a.Module, id)
		}
		delete(index, id)
		if k < len(addresses) && addresses[k] != 0 && a.List[i].Address-addresses[k]+near > 2*near {
			return fmt.Errorf("the kernel attached to BTF id %d of %s at %#x, which is at %#x", id, a.Module, addresses[k], a.List[i].Address)
		}
	}
	return nil
}
