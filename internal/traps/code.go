// Package traps measures on the machine that it runs on what a probe's trap into the kernel costs a
// program.
package traps

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/program"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/reader"
)

// function is a function of the object that is measured.
type function struct {
	name string
	code []byte // of loopName: a loop with the site in front
}

func isLoop(f function) bool { return f.name == loopName }

// Plain is the function on which no probe is put.
const Plain = "plain"

const (
	loopName    = "loop"
	functionAt  = 32 // behind its caller
	callerEvery = 64 // so that no site crosses a page
)

// at returns where a function is from its caller on, whose place a loop takes.
func (f function) at() int {
	if isLoop(f) {
		return 0
	}
	return functionAt
}

// Functions returns the names of the functions on which probes are put, by how they begin.
func Functions() (names []string) {
	for _, f := range functions {
		if f.name != Plain && !isLoop(f) {
			names = append(names, f.name)
		}
	}
	return names
}

// Code is an object in memory: the functions, each behind a loop that calls it, and a loop of
// system calls.
type Code struct {
	file *os.File
	span *sys.Span
	text uint64 // where the loops begin
}

// NewCode maps the object.
func NewCode() (*Code, error) {
	text := &elfgen.Section{
		Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR,
		Align: callerEvery, Size: uint64((len(functions) + 1) * callerEvery),
	}
	object := &elfgen.Object{
		Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.Machine(stub.Machine),
		Sections: []*elfgen.Section{text},
	}
	for i, f := range functions {
		object.Symbols = append(object.Symbols, elfgen.Symbol{
			Name: f.name, Section: text, Offset: uint64(i*callerEvery + f.at()), Size: uint64(len(f.code)), Type: elfgen.STT_FUNC,
		})
	}
	image, err := object.Layout()
	if err != nil {
		return nil, err
	}
	contents := image.Contents(text)
	for i, f := range functions {
		copy(contents[i*callerEvery:], caller)
		copy(contents[i*callerEvery+f.at():], f.code)
	}
	copy(contents[len(functions)*callerEvery:], syscaller)
	return mapCode(image.Finish(), text.Addr)
}

func mapCode(object []byte, text uint64) (*Code, error) {
	file, err := sys.Memfd("usdt-traps", object)
	if err != nil {
		return nil, err
	}
	size := uint64(len(object))
	span, err := sys.Reserve(size)
	if err == nil {
		err = span.Map(file, 0, size, unix.PROT_READ|unix.PROT_EXEC)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map code to measure: %w", err), file.Close())
	}
	return &Code{file, span, text}, nil
}

func (c *Code) Close() error { return errors.Join(c.span.Release(), c.file.Close()) }

// Calls returns a loop that calls a function.
func (c *Code) Calls(name string) func(n int) {
	for i, f := range functions {
		if f.name == name {
			return c.loop(i)
		}
	}
	return nil
}

// Syscalls returns a loop of system calls.
func (c *Code) Syscalls() func(n int) { return c.loop(len(functions)) }

// loop returns the i-th loop. It is no stub, but leaves what Go needs as a stub does: the stack
// pointer, the frame pointer and the goroutine.
func (c *Code) loop(i int) func(n int) {
	at := c.span.Address(c.text + uint64(i*callerEvery))
	return func(n int) { stub.CallAt(&at, nil, uintptr(n)) }
}

// Attach has a program that does nothing run at a function's entry, or at its return, until the
// attachment is closed.
func (c *Code) Attach(name string, of func(*reader.Function) reader.Probe) (*attach.Attachment, error) {
	site, err := c.site(name, of)
	if err != nil {
		return nil, err
	}
	// The functions have no red zone, which is why nop5 is refused elsewhere.
	force := !sys.PanicsOnWarning()
	return program.Attach(kernel.EmptyProgram(), []reader.Probe{site}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{os.Getpid()}}, Force: force})
}

// site returns the entry of a function, or its return.
func (c *Code) site(name string, of func(*reader.Function) reader.Probe) (reader.Probe, error) {
	f, err := reader.Open(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), c.file.Fd()))
	if err != nil {
		return reader.Probe{}, err
	}
	defer f.Close()
	for fn, err := range f.Functions() {
		if err != nil {
			return reader.Probe{}, err
		}
		if fn.Name() == name {
			return of(&fn), nil
		}
	}
	return reader.Probe{}, fmt.Errorf("%s has no function %s", c.file.Name(), name)
}
