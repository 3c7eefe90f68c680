package reader

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/notes"
)

// ErrNotELF is wrapped by the error of [Open] and [NewFile] for a file of
// another format, static archives included.
var ErrNotELF = safeelf.ErrNotELF

// Limits in bytes on sections.
const (
	maxNotes = 64 << 20 // a million probes
	maxTypes = 128 << 20
)

// maxErrors is the largest number of errors yielded for notes or for types: a hostile
// file has millions.
const maxErrors = 100

// File is an ELF file. Several goroutines may call its methods at once.
type File struct {
	path   string
	info   os.FileInfo // nil unless it is a file of this host
	named  bool        // whether the user named the path: see debugFile
	reader io.ReaderAt
	closer io.Closer
	elf    *safeelf.File
	layout layout
	binary atomic.Pointer[File] // the binary of a file with debug symbols, once found

	code    func() *File                        // the file with the code: this one, or its binary
	notes   func() ([]*io.SectionReader, error) // the note sections
	buildID func() string
	types   func() (*types, error)
	symbols func() *symbols
	slots   func() map[string]uint64   // see Slot
	own     func() map[uint64]uint64   // see OwnSlot
	unwind  func() []uint64            // see unwindStart
	sorted  func() []Function          // see functionAt
	got     func() (uint64, error)     // the address of the global offset table
	calls   [GoUnknown + 1]func() call // by Convention
}

// Open opens the ELF file at path and reads its headers. Only regular files
// are opened.
func Open(path string) (*File, error) {
	f, err := procfs.OpenFile(path)
	if errors.Is(err, procfs.ErrNotRegular) {
		return nil, fmt.Errorf("%w: %w", err, ErrNotELF)
	}
	if err != nil {
		return nil, err
	}
	file, err := newOSFile(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	file.named = true
	return file, nil
}

// newOSFile returns f, the file at path, as a File, which closes f unless there is an
// error.
func newOSFile(f *procfs.File, path string) (*File, error) {
	file, err := NewFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file.path, file.closer = path, f
	return file, nil
}

// NewFile reads the headers of the ELF file in r. Its probes have no path, and
// NewFile looks for no file beside it.
func NewFile(r io.ReaderAt) (*File, error) {
	e, err := safeelf.NewFile(r)
	if err != nil {
		return nil, err
	}
	f := &File{reader: r, elf: e, layout: newLayout(e)}
	if r, ok := r.(interface{ Stat() (os.FileInfo, error) }); ok {
		if f.info, err = r.Stat(); err != nil {
			return nil, err
		}
	}
	f.code = sync.OnceValue(f.findCode)
	f.notes = sync.OnceValues(f.openNotes)
	f.buildID = sync.OnceValue(e.BuildID)
	f.types = sync.OnceValues(f.readTypes)
	f.symbols = sync.OnceValue(f.newSymbols)
	f.slots = sync.OnceValue(f.readSlots)
	f.own = sync.OnceValue(f.readOwnSlots)
	f.unwind = sync.OnceValue(func() []uint64 { return readUnwind(f.elf) })
	f.sorted = sync.OnceValue(f.allFunctions)
	f.got = sync.OnceValues(f.gotAddress)
	for c := range f.calls {
		f.calls[c] = sync.OnceValue(func() call { return newCall(e.Machine, e.Class, Convention(c)) })
	}
	return f, nil
}

// Close closes the file if [Open] opened it.
func (f *File) Close() error {
	if b := f.binary.Load(); b != nil {
		b.Close()
	}
	if f.closer == nil {
		return nil
	}
	err := f.closer.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// BuildID returns the file's GNU build-id in hexadecimal, or "" if it has none.
func (f *File) BuildID() string { return f.buildID() }

// Probes returns the file's probe sites in the order of their notes. An error stands
// for the note or section that it names; the probes after it are right.
//
// A file of debug symbols, opened by its path, has the notes but not the code. If the
// binary with the same build-id is in the place where such files expect it, the
// probes are the binary's, and [Probe.OpenPath] is its path.
func (f *File) Probes() iter.Seq2[Probe, error] {
	return func(yield func(Probe, error) bool) {
		fail := func(err error) bool { return yield(Probe{}, f.errorf(err)) }
		sections, err := f.notes()
		if err != nil {
			fail(err)
			return
		}
		if len(sections) == 0 {
			return
		}
		types, err := f.types()
		if err != nil && !errors.Is(err, notes.ErrTypesVersion) && !fail(err) {
			return
		}
		dec, malformed, untyped := newDecoder(f, types), 0, 0
		for _, s := range sections {
			for note, err := range notes.Read(s, s.Size(), f.elf.ByteOrder, notes.Class(f.elf.Class)) {
				if err != nil {
					if malformed++; malformed > maxErrors {
						fail(fmt.Errorf("section %s: more than %d notes are malformed, the rest is not read", notes.SectionName, maxErrors))
						return
					}
					if !fail(fmt.Errorf("section %s: %w", notes.SectionName, err)) {
						return
					}
					continue
				}
				if err := dec.decode(&note); err != nil {
					untyped++
					if untyped == maxErrors+1 {
						err = fmt.Errorf("types of more than %d probes cannot be read: the rest is not listed", maxErrors)
					}
					if untyped <= maxErrors+1 && !fail(err) {
						return
					}
				}
				if !yield(dec.probe, nil) {
					return
				}
			}
		}
	}
}

// errorf puts the file's path before err.
func (f *File) errorf(err error) error {
	if f.path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

// hasProbes reports whether the file has a section of probes.
func (f *File) hasProbes() bool { return f.elf.Section(notes.SectionName) != nil }

func (f *File) openNotes() ([]*io.SectionReader, error) {
	var out []*io.SectionReader
	for i := range f.elf.Sections {
		s := &f.elf.Sections[i]
		if s.Name != notes.SectionName || s.Type == elf.SHT_NOBITS {
			continue
		}
		if f.elf.Type == elf.ET_REL {
			return nil, errors.New("relocatable object file: its probes have addresses only once it is linked")
		}
		r, _, err := f.elf.Open(s, maxNotes)
		if err != nil {
			return nil, err
		}
		if err := f.elf.Spend(costNotes * uint64(r.Size())); err != nil {
			return nil, fmt.Errorf("read section %s: %w", notes.SectionName, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Stripped reports whether the file has lost its table of symbols and no other file
// has it. Then only exported functions and functions of a Go program have names.
func (f *File) Stripped() bool {
	if f.hasSymtab() || f.elf.Section(".gnu_debugdata") != nil {
		return false
	}
	table, err := f.debugFile()
	return table == nil || err != nil
}

// IsGo reports whether Go's linker wrote the file, a program or a library.
func (f *File) IsGo() bool {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo"} {
		if f.elf.Section(name) != nil {
			return true
		}
	}
	return false
}

// IsGo reports whether the probe's object has code of Go, possibly beside C.
func (p *Probe) IsGo() bool { return p.file != nil && p.file.code().IsGo() }
