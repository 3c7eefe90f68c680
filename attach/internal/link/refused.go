package link

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
)

// A link of many functions is made for all or for none, and the error does not name the refused
// one. The kernel looks at all of them, by ascending id, before it patches the first. So a link is
// asked for that also has an id which the kernel certainly refuses, with an error that is known, and
// that stands behind the others: such a link is never made, and another error means that one of the
// others is refused. Two such ids have different errors, since functions are refused with both.

// outside is an id that no type has, with the error EINVAL.
const outside = 1<<31 - 1

// withoutRefused returns the functions that the kernel does not refuse by what they are, and notes why
// it refuses the others. Functions behind the last id that ftrace does not patch are not tried.
func (a *functionsAttempt) withoutRefused(ctx context.Context, prog *ebpf.Program, left []int) ([]int, error) {
	last, err := a.lastUnpatched(prog)
	if last == 0 {
		return left, err
	}
	end := sort.Search(len(left), func(k int) bool { return a.List[left[k]].ID >= last })
	kept := make([]int, 0, len(left))
	for rest := left[:end]; len(rest) > 0; {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		refusal, whole := a.refusal(prog, rest, last)
		if whole != nil {
			return nil, whole
		}
		if refusal == nil {
			kept = append(kept, rest...)
			break
		}
		first := sort.Search(len(rest)-1, func(k int) bool {
			if whole != nil {
				return true
			}
			var one error
			if one, whole = a.refusal(prog, rest[:k+1], last); one != nil {
				refusal = one
			}
			return one != nil
		})
		if whole = cmp.Or(whole, context.Cause(ctx)); whole != nil {
			return nil, whole
		}
		kept = append(kept, rest[:first]...)
		a.outcomes[rest[first]] = TrampolineMany.explain(refusal)
		rest = rest[first+1:]
	}
	return append(kept, left[end:]...), nil
}

// lastUnpatched returns the highest id that the kernel refuses because ftrace does not patch its
// function, 0 if there is none.
func (a *functionsAttempt) lastUnpatched(prog *ebpf.Program) (uint32, error) {
	if a.Unpatched == nil {
		return 0, nil
	}
	ids := slices.Sorted(slices.Values(a.Unpatched()))
	for k := len(ids) - 1; k >= max(0, len(ids)-maxUnpatched); k-- {
		// A second id keeps the link from being made should the function be patched after all.
		err := a.refuse(prog, nil, ids[k], outside)
		if errors.Is(err, unix.ENOENT) {
			return ids[k], nil
		}
		if !ofFunction(err) {
			return 0, a.wholeError(err)
		}
	}
	return 0, nil
}

// maxUnpatched is how many ids are tried.
const maxUnpatched = 16

// refusal returns an error with which the kernel refuses one of the functions, nil if it refuses
// none. whole concerns all functions.
func (a *functionsAttempt) refusal(prog *ebpf.Program, part []int, unpatched uint32) (one, whole error) {
	for behind, known := range map[uint32]unix.Errno{unpatched: unix.ENOENT, outside: unix.EINVAL} {
		err := a.refuse(prog, part, behind)
		switch {
		case !ofFunction(err):
			return nil, a.wholeError(err)
		case !errors.Is(err, known):
			return err, nil
		}
	}
	return nil, nil
}

// errMade is the error for a link that the kernel should have refused.
var errMade = errors.New("the kernel made a link for a function that it cannot attach to")

// refuse asks for a link that the kernel refuses, and returns with which error.
func (a *functionsAttempt) refuse(prog *ebpf.Program, part []int, behind ...uint32) error {
	fd, err := a.link(prog, part, behind...)
	if err == nil {
		return errors.Join(errMade, shield.Close(fd))
	}
	return err
}
