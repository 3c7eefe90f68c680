package bench

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// function is a function of the object that is measured.
type function struct {
	name string
	code []byte // of loopName: a loop with the site in front
}

func isLoop(f function) bool { return f.name == loopName }

const (
	plainName   = "plain"
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

// code is an object in memory: the functions, each behind a loop that calls it, and a loop of
// system calls.
type code struct {
	file *os.File
	span *sys.Span
	text uint64 // where the loops begin
}

func newCode() (*code, error) {
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

func mapCode(object []byte, text uint64) (*code, error) {
	file, err := sys.Memfd("sdttrace-bench", object)
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
	return &code{file, span, text}, nil
}

func (c *code) close() error { return errors.Join(c.span.Release(), c.file.Close()) }

// calls returns a loop that calls a function.
func (c *code) calls(name string) func(n int) {
	for i, f := range functions {
		if f.name == name {
			return c.loop(i)
		}
	}
	return nil
}

// syscalls returns a loop of system calls.
func (c *code) syscalls() func(n int) { return c.loop(len(functions)) }

// loop returns the i-th loop. It is no stub, but leaves what Go needs as a stub does: the stack
// pointer, the frame pointer and the goroutine.
func (c *code) loop(i int) func(n int) {
	at := c.span.Address(c.text + uint64(i*callerEvery))
	return func(n int) { stub.CallAt(&at, nil, uintptr(n)) }
}
