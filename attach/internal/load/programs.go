package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

const (
	// idlePrograms is how many programs without a link are kept: files that come
	// and go have the same few signatures, and the verifier takes longer than all
	// other work on a file.
	idlePrograms = 32
	// maxRefusals is how many signatures are remembered as refused.
	maxRefusals = 256
)

// Programs are the programs of a tracing. Only the search for sites changes them. All methods
// except Find and Load require the lock that Load is given.
type Programs struct {
	loaded   []loaded
	codes    query.Index[Code]
	refusals query.Index[error] // of the kernel
	looks    int                // for sites, that found some or lost some
	gone     Runs               // of programs that have been closed

	// Create loads a program with the code of signatures; nil means Program. It is for tests.
	Create func(spec *ebpf.ProgramSpec, in []*query.Signature) (*ebpf.Program, error)
}

func (p *Programs) new(spec *ebpf.ProgramSpec, in []*query.Signature) (*ebpf.Program, error) {
	if p.Create != nil {
		return p.Create(spec, in)
	}
	return Program(spec)
}

// loaded is a program, and the number of the last look at which it had a link.
type loaded struct {
	prog *ebpf.Program
	used int
}

// Code says where a signature's code is.
type Code struct {
	Prog  *ebpf.Program
	Entry codegen.Entry
}

// Find returns the code of a signature, if it has been loaded.
func (p *Programs) Find(sig *query.Signature) (Code, bool) {
	return p.codes.Find(sig)
}

// add adds a program and the signatures whose code it has.
func (p *Programs) add(prog *ebpf.Program, in []*query.Signature, entries map[*query.Signature]codegen.Entry) {
	p.loaded = append(p.loaded, loaded{prog, p.looks})
	for _, sig := range in {
		p.codes.Put(sig, Code{prog, entries[sig]})
	}
}

// refusal returns why the kernel refused the signature before; nil if it did not.
func (p *Programs) refusal(sig *query.Signature) error {
	err, _ := p.refusals.Find(sig)
	return err
}

// refuse notes why the kernel refuses a signature, if it would refuse it again.
func (p *Programs) refuse(sig *query.Signature, err error) {
	var verifier *ebpf.VerifierError
	if !errors.As(err, &verifier) && !errors.Is(err, unix.E2BIG) {
		return
	}
	if p.refusals.Len() >= maxRefusals {
		p.refusals = query.Index[error]{}
	}
	p.refusals.Put(sig, err)
}

// Prune closes programs without a link, except for the programs that had one most recently.
func (p *Programs) Prune(used map[*ebpf.Program]bool) error {
	p.looks++
	var busy, idle []loaded
	for _, l := range p.loaded {
		if used[l.prog] {
			l.used = p.looks
			busy = append(busy, l)
		} else {
			idle = append(idle, l)
		}
	}
	slices.SortStableFunc(idle, func(a, b loaded) int { return cmp.Compare(b.used, a.used) })
	kept := min(idlePrograms, len(idle))
	p.loaded = append(busy, idle[:kept]...)
	closed := make(map[*ebpf.Program]bool, len(idle)-kept)
	var first error
	for _, l := range idle[kept:] {
		err := p.gone.add(l.prog)
		l.prog.Close()
		closed[l.prog] = true
		if first == nil {
			first = err
		}
	}
	p.codes.DeleteFunc(func(c Code) bool { return closed[c.Prog] })
	return first
}

// Count returns what all programs did.
func (p *Programs) Count() (Runs, error) {
	sum := p.gone
	for _, l := range p.loaded {
		if err := sum.add(l.prog); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// Close closes all programs.
func (p *Programs) Close() {
	for _, l := range p.loaded {
		l.prog.Close()
	}
}

// Program loads a program. The error wraps E2BIG if the program is too long,
// or takes the verifier too many steps.
func Program(spec *ebpf.ProgramSpec) (*ebpf.Program, error) {
	kernel.StayOnTaskStack(spec)
	// The program has jumps from its beginning to its end.
	if size := spec.Instructions.Size() / asm.InstructionSize; size > math.MaxInt16 {
		return nil, fmt.Errorf("a program of %d instructions: %w", size, unix.E2BIG)
	}
	return ebpf.NewProgram(spec)
}
