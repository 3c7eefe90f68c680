package reader

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Declared is a probe that a Go program has declared and not loaded, so that nobody can
// attach to it.
type Declared struct{ Provider, Name string }

// NotLoaded says that process pid has declared d and more probes without loading them, and
// what helps.
func (d Declared) NotLoaded(pid, more int) string {
	and := ""
	if more > 0 {
		and = fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("process %d has declared %s:%s%s without loading: it has to call provider.LoadAll, or to be started with USDT_LOAD=1", pid, d.Provider, d.Name, and)
}

// declaredMagic begins the variable by which package provider leads to its declarations:
// FORMAT.md, "Probes that are declared and not loaded".
const declaredMagic = "usdt declared 1\n"

const (
	maxDeclared   = 4096     // probes that Declared returns
	maxRegistered = 1024     // providers in which it looks for them
	maxData       = 64 << 20 // bytes of variables
	maxIdentifier = 63
)

// Declared returns the probes that Go code of the process has declared by package provider
// and not loaded: up to 4096, in no order. It takes from the process's memory only names
// that probes can have, and leaves out what it cannot read.
func (p *Process) Declared() (all []Declared) {
	for _, o := range p.objects {
		offset := p.files.registry(o)
		for i := range o.Maps {
			m := &o.Maps[i]
			if offset > 0 && m.Write && !m.Shared && offset >= m.Offset && offset-m.Offset < m.Size() {
				w := walk{pid: p.pid}
				w.registry(m.Start + (offset - m.Offset))
				all = append(all, w.found...)
			}
		}
	}
	return all
}

// registry returns the offset of the registry in the object's file, 0 for none. It looks for
// it once in each file that Go's linker wrote.
func (fs *files) registry(o *procfs.Object) uint64 {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	e, _, err := fs.entry(o)
	if err != nil {
		return 0
	}
	if !e.isGo {
		return e.registry
	}
	e.isGo = false
	if f, _, err := o.Open(); err == nil {
		if file, err := newOSFile(f, o.Path); err == nil {
			e.registry = file.registry()
		}
		f.Close()
	}
	return e.registry
}

func (f *File) registry() uint64 {
	data := f.elf.Section(".data")
	if data == nil {
		return 0
	}
	content, err := f.elf.Data(data, maxData)
	at := bytes.Index(content, []byte(declaredMagic))
	if err != nil || at < 0 {
		return 0
	}
	return data.Offset + uint64(at)
}

// walk reads the memory of a process, whose words are little-endian and of 64 bits: other
// machines declare no probes.
type walk struct {
	pid   int
	found []Declared
}

func (w *walk) read(address uint64, b []byte) bool {
	return address != 0 && procfs.ReadMemory(w.pid, address, b) == nil
}

// words reads n words.
func (w *walk) words(address uint64, n int) []uint64 {
	b := make([]byte, 8*n)
	words := make([]uint64, n) // zero if they cannot be read
	if w.read(address, b) {
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
	return words
}

// name reads a Go string that is a name, "" if it is none.
func (w *walk) name(address uint64) string {
	s := w.words(address, 2)
	if s[1] == 0 || s[1] > maxIdentifier {
		return ""
	}
	b := make([]byte, s[1])
	if !w.read(s[0], b) {
		return ""
	}
	for i, c := range b {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return ""
		}
	}
	return string(b)
}

// registry reads the variable: the magic, the first provider, and four offsets.
func (w *walk) registry(address uint64) {
	v := w.words(address, 5)
	provider, next, name, pending, probeName := v[2], uint64(uint32(v[3])), v[3]>>32, uint64(uint32(v[4])), v[4]>>32
	for range maxRegistered {
		if provider == 0 {
			return
		}
		if called := w.name(provider + name); called != "" {
			list := w.words(provider+pending, 2)
			for _, probe := range w.words(list[0], int(min(list[1], uint64(maxDeclared-len(w.found))))) {
				if n := w.name(probe + probeName); n != "" {
					w.found = append(w.found, Declared{called, n})
				}
			}
		}
		provider = w.words(provider+next, 1)[0]
	}
}
