package kernfunc

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
)

// ErrHidden is the error for a kernel that shows its addresses to nobody without CAP_SYSLOG
// (kernel.kptr_restrict).
var ErrHidden = errors.New("/proc/kallsyms has no addresses: reading them needs CAP_SYSLOG, and kernel.kptr_restrict below 2")

// symbol is a line of /proc/kallsyms: a function of the kernel, or of a module.
type symbol struct {
	address      uint64
	at           uint32 // where its name begins in symbols.names
	name, module uint16 // their lengths
}

// symbols are the functions of /proc/kallsyms by address.
type symbols struct {
	all   []symbol
	names []byte
}

func (s *symbols) name(i int) []byte {
	l := &s.all[i]
	return s.names[l.at : l.at+uint32(l.name)]
}

func (s *symbols) module(i int) []byte {
	l := &s.all[i]
	return s.names[l.at+uint32(l.name) : l.at+uint32(l.name)+uint32(l.module)]
}

// maxLine is longer than any line: the kernel's names have at most 512 bytes (KSYM_NAME_LEN).
const maxLine = 4096

// usual is how many functions a distribution's kernel has.
const usual = 1 << 17

// readSymbols reads "ADDRESS TYPE NAME [MODULE]" lines, and keeps functions.
func readSymbols(r io.Reader) (*symbols, error) {
	s := &symbols{all: make([]symbol, 0, usual), names: make([]byte, 0, 24*usual)}
	shown, lines := false, 0
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), maxLine)
	for ; in.Scan(); lines++ {
		address, rest, ok := cutHex(in.Bytes())
		if !ok || len(rest) < 4 || rest[0] != ' ' || rest[2] != ' ' {
			continue
		}
		shown = shown || address != 0
		switch rest[1] {
		case 't', 'T', 'w', 'W':
		default:
			continue
		}
		name, module := cutModule(rest[3:])
		if address == 0 || len(name) == 0 {
			continue
		}
		s.all = append(s.all, symbol{address, uint32(len(s.names)), uint16(len(name)), uint16(len(module))})
		s.names = append(append(s.names, name...), module...)
	}
	switch err := in.Err(); {
	case err != nil:
		return nil, err
	case lines > 0 && !shown:
		return nil, ErrHidden
	}
	byAddress := func(a, b symbol) int { return cmp.Compare(a.address, b.address) }
	if !slices.IsSortedFunc(s.all, byAddress) {
		slices.SortStableFunc(s.all, byAddress)
	}
	return s, nil
}

// cutHex cuts a number in hexadecimal from the beginning of a line.
func cutHex[text string | []byte](line text) (n uint64, rest text, ok bool) {
	for i := range len(line) {
		c := line[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return n, line[i:], i > 0
		}
		if i == 16 {
			return 0, rest, false
		}
		n = n<<4 | uint64(c)
	}
	return 0, rest, false
}

// cutModule cuts "NAME [MODULE]", whose second part only functions of modules have.
func cutModule(line []byte) (name, module []byte) {
	name, module, _ = bytes.Cut(line, []byte{'['})
	return bytes.TrimRight(name, " \t"), bytes.TrimRight(module, "]")
}

// upTo returns the index behind the last symbol that is at an address or before it.
func (s *symbols) upTo(address uint64) int {
	i, _ := slices.BinarySearchFunc(s.all, address, func(l symbol, address uint64) int {
		if l.address <= address {
			return -1
		}
		return 1
	})
	return i
}
