package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
)

// ErrNoTrampolines is the error for kernels that call no programs by trampolines.
var ErrNoTrampolines = fmt.Errorf("this kernel has no BPF trampolines at its functions, which fentry: and fexit: take (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS; on arm64 since Linux 6.4): %w", ebpf.ErrNotSupported)

// trampolines is the feature that a program can be attached to a function by a trampoline.
var trampolines = kernel.Feature{Test: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Tracing,
		AttachType:   AtEntry.Single(),
		AttachTo:     "bpf_fentry_test1",
		Instructions: kernel.EmptyProgram(),
		License:      kernel.License,
	})
	if err != nil {
		return kernel.Refusal(err)
	}
	defer prog.Close()
	fd, err := kernelCalls{}.LinkFunction(prog, AtEntry, 1)
	if err != nil {
		return kernel.Refusal(err)
	}
	return shield.Close(fd)
}}

// byTrampoline is the way to functions of the kernel by trampolines.
var byTrampoline = way{
	choose: func(Kind) (Kind, error) { return chooseTrampolines() },
	check: func() error {
		_, err := chooseTrampolines()
		return err
	},
}

// RequireMany returns an error if this kernel attaches no program to many of its functions by one link of
// trampolines: it wraps [ebpf.ErrNotSupported] if there are no such links.
func RequireMany(when When) error {
	many, err := kernelCalls{}.HaveMany(when)
	name := mechanisms[TrampolineMany].name
	switch {
	case err != nil:
		return privilege.Explain("ask the kernel for "+name, err)
	case !many:
		return fmt.Errorf("%s links: %w (Linux 7.2 has them on x86-64)", name, ebpf.ErrNotSupported)
	}
	return nil
}

// chooseTrampolines returns TrampolineMany if this kernel has links of many functions, and else
// TrampolineOne. The error is ErrNoTrampolines if it has none at all.
func chooseTrampolines() (Kind, error) {
	many, err := kernelCalls{}.HaveMany(AtEntry)
	if many {
		return TrampolineMany, nil
	}
	if err == nil {
		err = trampolines.Require()
	}
	switch {
	case err == nil:
		return TrampolineOne, nil
	case errors.Is(err, ebpf.ErrNotSupported):
		return 0, ErrNoTrampolines
	}
	return 0, privilege.Explain("ask the kernel for trampolines", err)
}

// attachTrampolines attaches the group's program to functions of the kernel.
func attachTrampolines(ctx context.Context, a *attempt) error {
	f := &functionsAttempt{
		Functions: &Functions{
			Module: a.Path, When: AtEntry, Unpatched: a.Unpatched,
			Load: func(uint32) (*ebpf.Program, error) { return a.Prog.Clone() },
		},
		calls:    kernelCalls{},
		outcomes: a.outcomes,
	}
	switch {
	case a.Session:
		f.When = AtBoth
	case a.Returns:
		f.When = AtReturn
	}
	for i := range a.Sites {
		s := &a.Sites[i]
		f.List = append(f.List, Function{ID: s.Probe.Kernel.Types().TypeID, Address: s.Offset, Cookie: s.Cookie})
	}
	left := f.distinct()
	var err error
	if a.kind == TrampolineOne {
		if err = f.attachSingle(ctx, left); err == nil {
			err = f.keepMeant(left)
		}
	} else {
		err = f.attachMany(ctx, left)
	}
	closed := map[*ebpf.Program]bool{}
	for _, l := range f.links {
		if !closed[l.Prog] { // a link keeps its program
			err = errors.Join(err, l.Prog.Close())
			closed[l.Prog] = true
		}
		l.Prog, l.File = a.Prog, a.File
		a.links = append(a.links, l)
	}
	return err
}

// keepMeant closes links that are for other functions than the ones in left: programs are loaded for a
// function by its name, which may also be that of a function in another module.
func (a *functionsAttempt) keepMeant(left []int) error {
	var kept []Link
	links := a.links
	for _, i := range left {
		if a.outcomes[i] != nil {
			continue
		}
		l := links[0]
		links = links[1:]
		info, err := wordsOf(l.fd)
		if err != nil {
			a.links = append(kept, links...)
			return errors.Join(fmt.Errorf("compare a link with what it was made for: %w", err), l.Close(), l.Prog.Close())
		}
		switch id := uint32(info[3]); { // target_btf_id, behind attach_type and target_obj_id
		case id != a.List[i].ID:
			a.outcomes[i] = fmt.Errorf("another module has a function of its name, BTF id %d, which the kernel takes for it: kprobe: tells them apart", id)
			if err := errors.Join(l.Close(), l.Prog.Close()); err != nil {
				return err
			}
		default:
			kept = append(kept, l)
		}
	}
	a.links = kept
	return nil
}
