package kallsyms

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// ErrHidden says that the kernel shows the names of its functions without their addresses.
var ErrHidden = errors.New("the kernel hides the addresses of its functions: that takes CAP_SYSLOG, or root, and a sysctl kernel.kptr_restrict below 2")

// Read reads the functions of the running kernel. The error wraps [ErrHidden] if it hides their addresses.
func Read() (*Table, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f)
}

const (
	maxText    = 1 << 28 // bytes of names that a table may have
	maxModules = 1 << 16
)

// Parse reads functions in the format of /proc/kallsyms. The error wraps [ErrHidden] if there are
// functions and no addresses of them.
func Parse(r io.Reader) (*Table, error) {
	p := parser{text: []byte{0}, modules: []string{""}, module: map[string]uint32{"": 0}}
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read the kernel's functions: line %d: %w", n, err)
		}
		if len(line) > 0 {
			if err := p.line(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return nil, fmt.Errorf("read the kernel's functions: line %d: %w", n, err)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if p.functions > 0 && p.hidden == p.functions {
		return nil, ErrHidden
	}
	return p.table(), nil
}

type parser struct {
	text    []byte
	modules []string
	module  map[string]uint32
	entries []entry

	functions, hidden int
}

var (
	errLine    = errors.New("is no address, type and name")
	errModules = fmt.Errorf("has more than %d modules before it", maxModules)
	errText    = fmt.Errorf("has more than %d bytes of names before it", maxText)
)

// line reads "ADDRESS TYPE NAME", behind which may be a tab and "[MODULE]".
func (p *parser) line(line []byte) error {
	digits, rest, _ := bytes.Cut(line, []byte(" "))
	address, ok := hexadecimal(digits)
	if !ok || len(rest) < 3 || rest[1] != ' ' {
		return errLine
	}
	name, module, _ := bytes.Cut(rest[2:], []byte("\t"))
	if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 {
		return errLine
	}
	switch rest[0] {
	case 't', 'T', 'w', 'W':
	default:
		p.end(address)
		return nil
	}
	if p.functions++; address == 0 {
		p.hidden++
	}
	m, err := p.moduleOf(module)
	if err != nil {
		return err
	}
	if len(p.text)+len(name) >= maxText {
		return errText
	}
	p.entries = append(p.entries, entry{address: address, name: uint32(len(p.text)), module: m})
	p.text = append(append(p.text, name...), 0)
	return nil
}

// end says that what lies at an address, and is no function, ends the one before it.
func (p *parser) end(address uint64) {
	if n := len(p.entries); n == 0 || p.entries[n-1].name != 0 || p.entries[n-1].address > address {
		p.entries = append(p.entries, entry{address: address})
	}
}

func (p *parser) moduleOf(word []byte) (uint32, error) {
	if len(word) >= 2 && word[0] == '[' && word[len(word)-1] == ']' {
		word = word[1 : len(word)-1]
	}
	m, known := p.module[string(word)]
	if !known {
		if len(p.modules) == maxModules {
			return 0, errModules
		}
		m = uint32(len(p.modules))
		p.modules = append(p.modules, string(word))
		p.module[string(word)] = m
	}
	return m, nil
}

// table sorts the entries and leaves out ends that end nothing: where functions begin at the same
// address, and behind another end.
func (p *parser) table() *Table {
	slices.SortFunc(p.entries, func(a, b entry) int {
		if a.address == b.address && (a.name == 0) != (b.name == 0) {
			return cmp.Compare(b.name, a.name) // functions first
		}
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.name, b.name))
	})
	kept := p.entries[:0]
	for _, e := range p.entries {
		if e.name == 0 && (len(kept) == 0 || kept[len(kept)-1].name == 0 || kept[len(kept)-1].address == e.address) {
			continue
		}
		kept = append(kept, e)
	}
	return &Table{text: string(p.text), modules: p.modules, entries: slices.Clip(kept)}
}

func hexadecimal(digits []byte) (n uint64, ok bool) {
	if len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 16, 64)
	return n, err == nil
}
