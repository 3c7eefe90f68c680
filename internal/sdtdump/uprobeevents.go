package sdtdump

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// uprobeEventsPrinter writes a line for tracefs's uprobe_events for every site
// (Documentation/trace/uprobetracer.rst). For a probe that the kernel cannot express
// it writes a comment, which the kernel accepts as well.
type uprobeEventsPrinter struct {
	lines
	names map[string]int // events by name: further sites get a number
	sites map[string]bool
}

// maxEventName is MAX_EVENT_NAME_LEN of kernel/trace/trace.h, minus the NUL.
const maxEventName = 63

func newUprobeEvents(w io.Writer, o *options) printer {
	return &uprobeEventsPrinter{lines: newLines(w, o), names: map[string]int{}, sites: map[string]bool{}}
}

func (u *uprobeEventsPrinter) probe(p *reader.Probe) error {
	path := p.Attachable()
	at := fmt.Sprintf("%s:%#x", path, p.Offset)
	if u.sites[at] {
		return nil // another process's
	}
	u.sites[at] = true
	var err error
	switch {
	case p.SiteErr != nil:
		err = p.SiteErr
	case strings.ContainsAny(path, " #") || printable.String(path) != path:
		err = errors.New("the path has characters that uprobe_events cannot take")
	}
	if err != nil {
		_, err = fmt.Fprintf(u.w, "# %s\n", printable.String(fmt.Sprintf("%s:%s at %#x: %v", p.Provider, p.Name, p.Location, err)))
		return err
	}
	if p.SemaphoreOffset != 0 {
		at += fmt.Sprintf("(%#x)", p.SemaphoreOffset)
	}
	group, event := identifier(p.Provider), identifier(p.Name)
	line := fmt.Sprintf("p:%.*s/%s %s", maxEventName, group, u.unique(group, event), at)
	d := decoded{p, p.Arguments()}
	known := u.prototypeOf(p, d.args)
	names := fetchArgNames{}
	for i := range d.args {
		arg, err := fetchArg(d, i, param(known, i))
		if err != nil {
			about := fmt.Sprintf("%s:%s argument %d, %s: %v", p.Provider, p.Name, i, d.args[i].Text, err)
			fmt.Fprintf(u.w, "# %s\n", printable.String(about))
			continue
		}
		name := fmt.Sprintf("arg%d", i)
		if f := blockField(d, i); f != nil {
			name = identifier(f.Name)
		}
		if a := param(known, i); a != nil {
			name = a.Name
		}
		line += " " + names.unique(name) + "=" + arg
	}
	_, err = fmt.Fprintln(u.w, line)
	return err
}

// unique returns the event's name, with a number from the second site on.
func (u *uprobeEventsPrinter) unique(group, event string) string {
	if len(event) > maxEventName-8 {
		event = event[:maxEventName-8]
	}
	n := u.names[group+"/"+event]
	u.names[group+"/"+event]++
	if n > 0 {
		return fmt.Sprintf("%s_%d", event, n)
	}
	return event
}

// maxFetchArgName is MAX_ARG_NAME_LEN of kernel/trace/trace_probe.h, minus the NUL.
const maxFetchArgName = 31

// fetchArgNames has the names of an event's arguments so far: the kernel refuses an
// event that has one twice.
type fetchArgNames map[string]bool

// unique returns the name, cut to the kernel's limit and with a number if another
// argument has it. The kernel has names of its own: reserved_field_names in
// kernel/trace/trace_probe.c.
func (used fetchArgNames) unique(name string) string {
	if strings.HasPrefix(name, "common_") || strings.HasPrefix(name, "__probe_") {
		name = "x" + name
	}
	out := name[:min(len(name), maxFetchArgName)]
	for n := 1; used[out]; n++ {
		number := fmt.Sprintf("_%d", n)
		out = name[:min(len(name), maxFetchArgName-len(number))] + number
	}
	used[out] = true
	return out
}

var (
	errRegister = errors.New("the kernel has no name for the register")
	errPair     = errors.New("uprobe_events has no values in two registers")
	errWidth    = errors.New("the kernel has no type of that size")
	errIndex    = errors.New("uprobe_events has no indexed memory")
	errAddress  = errors.New("uprobe_events has no addresses of symbols")
)

// fetchArg returns argument i of p in the syntax of uprobe_events. known is nil if nothing
// is known of it beside what the object says.
func fetchArg(p decoded, i int, known *prototype.Param) (string, error) {
	a := &p.args[i]
	if a.Err != nil {
		return "", a.Err
	}
	typ := fmt.Sprintf("u%d", 8*a.Size)
	switch {
	case a.Size != 1 && a.Size != 2 && a.Size != 4 && a.Size != 8:
		return "", errWidth
	case a.Float || isFloat(blockField(p, i)):
		typ = fmt.Sprintf("x%d", 8*a.Size)
	case a.Signed:
		typ = fmt.Sprintf("s%d", 8*a.Size)
	}
	if a.Symbol != "" || a.Segment != "" {
		return "", errAddress
	}
	var value string
	switch a.Kind {
	case notes.Imm:
		value = string(appendImmediate([]byte(`\`), a))
	case notes.Reg:
		if a.Pair != "" {
			return "", errPair
		}
		if r, ok := notes.LookupRegister(notes.Machine(p.Machine), notes.Class(p.Class), a.Reg); ok && r.Kind == notes.ZeroRegister {
			value = `\0`
			break
		}
		reg, ok := kernelRegister(p, a.Reg)
		if !ok {
			return "", errRegister
		}
		value = reg
	case notes.Mem:
		if a.Index != "" || a.Base == "" {
			return "", errIndex
		}
		reg, ok := kernelRegister(p, a.Base)
		if !ok {
			return "", errRegister
		}
		value = fmt.Sprintf("%+d(%s)", a.Disp, reg)
	}
	if f := blockField(p, i); f != nil && f.Kind == reader.String {
		return "+0(" + value + "):string", nil
	}
	if known != nil && known.Kind == prototype.Text && known.Length < 0 {
		if known.Follow {
			value = fmt.Sprintf("+%d(%s)", known.Offset, value)
		}
		return "+0(" + value + "):string", nil
	}
	return value + ":" + typ, nil
}

// kernelRegister returns the kernel's name for a register (regoffset_table in
// arch/*/kernel/ptrace.c).
func kernelRegister(p decoded, name string) (string, bool) {
	r, ok := notes.LookupRegister(notes.Machine(p.Machine), notes.Class(p.Class), name)
	if !ok || r.Kind != notes.GeneralRegister || r.Shift != 0 {
		return "", false
	}
	switch p.Machine {
	case elf.EM_X86_64, elf.EM_386:
		// The kernel calls rax and eax ax, and r8 r8.
		if n := r.Name; len(n) == 3 && (n[0] == 'r' || n[0] == 'e') && (n[1] < '0' || n[1] > '9') {
			return "%" + n[1:], true
		}
		return "%" + r.Name, true
	case elf.EM_AARCH64, elf.EM_ARM, elf.EM_S390, elf.EM_RISCV:
		return "%" + r.Name, true
	}
	return "", false
}
