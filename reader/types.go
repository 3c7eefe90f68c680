package reader

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/notes"
)

// maxBTF is the largest number of bytes of types that are read. An object's argument
// structs need far fewer, because probes share them.
const maxBTF = 32 << 20

// types are the typed probes of a file.
type types struct {
	records *notes.Types
	spend   func(cost uint64) error // see safeelf.File.Spend

	mu      sync.Mutex
	spec    *btf.Spec // nil without a .BTF section
	graph   *typeGraph
	structs map[uint32]*structType
}

// structType is a struct of an argument block, with its fields.
type structType struct {
	btf    *btf.Struct
	fields []Field
	size   uint64 // bytes of its declaration
	err    error
}

func (f *File) readTypes() (*types, error) {
	s := f.elf.Section(notes.TypesSectionName)
	if s == nil {
		return nil, nil
	}
	data, err := f.elf.Data(s, maxTypes)
	if err != nil {
		return nil, err
	}
	records, err := notes.ParseTypes(data, f.elf.ByteOrder)
	if err != nil {
		return nil, err
	}
	t := &types{records: records, structs: map[uint32]*structType{}}
	if s := f.elf.Section(".BTF"); s != nil {
		if err := t.load(f.elf, s.Name); err != nil {
			return nil, fmt.Errorf("section .BTF: %w", err)
		}
	}
	return t, nil
}

func (t *types) load(f *safeelf.File, name string) (err error) {
	data, err := f.Data(f.Section(name), maxBTF)
	if err == nil {
		err = f.Spend(costTypes * uint64(len(data)))
	}
	if err != nil {
		return err
	}
	t.spend = f.Spend
	// Package btf would take anything but raw BTF for an ELF file.
	if len(data) < 2 || f.ByteOrder.Uint16(data) != btfMagic {
		return errors.New("it does not begin with the magic number of BTF")
	}
	if t.graph, err = newTypeGraph(data, f.ByteOrder); err != nil {
		return err
	}
	return guard(func() error {
		t.spec, err = btf.LoadSpecFromReader(bytes.NewReader(data))
		return err
	})
}

// guard turns a panic of package btf into an error, since that package does not
// promise to withstand every input.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("package btf panics: %v", r)
		}
	}()
	return f()
}

// typer looks up the types of one probe after the other. Probes that share a struct
// are next to each other, and their types are allocated together, in pieces so small
// that one kept probe holds little memory.
type typer struct {
	*types   // nil without typed probes
	id       uint32
	last     *structType // of id
	free     []Type
	declared uint64 // bytes of declarations so far
	most     uint64 // of them
}

// of returns the type of the probe of note n, nil if it has none.
func (t *typer) of(n *notes.Note) (*Type, error) {
	if t.types == nil {
		return nil, nil
	}
	if len(t.free) == 0 {
		t.free = make([]Type, 16)
	}
	typ := &t.free[0]
	r := &typ.Record
	if ok, err := t.records.Of(n, r); err != nil || !ok {
		return nil, err
	}
	if t.last == nil || r.Type != t.id {
		t.id, t.last = r.Type, t.structure(r.Type)
	}
	if t.last.err != nil {
		return nil, t.last.err
	}
	if t.declared += t.last.size; t.declared > t.most {
		return nil, fmt.Errorf("the declarations of the file's arguments are longer than %d MiB", t.most>>20)
	}
	t.free = t.free[1:]
	typ.Struct, typ.Fields = t.last.btf, t.last.fields
	return typ, nil
}

// structure returns the struct with a BTF type's id, an empty one for id 0: a probe
// without arguments.
func (t *types) structure(id uint32) *structType {
	if id == 0 {
		return new(structType)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.structs[id]; ok {
		return s
	}
	s := new(structType)
	t.structs[id] = s
	if t.spec == nil {
		s.err = errors.New("the object has no .BTF section")
		return s
	}
	if s.err = t.graph.check(id); s.err != nil {
		return s
	}
	s.err = guard(func() error {
		typ, err := t.spec.TypeByID(btf.TypeID(id))
		if err != nil {
			return err
		}
		st, ok := btf.UnderlyingType(typ).(*btf.Struct)
		if !ok {
			return fmt.Errorf("BTF type %d is not a struct", id)
		}
		// Many names may lead to one struct, and each is decoded.
		if s.size, err = declaration(st, t.spend); err != nil {
			return err
		}
		s.btf, s.fields = st, Fields(st)
		return nil
	})
	if s.err != nil && !errors.Is(s.err, safeelf.ErrBudget) {
		t.graph.broken = s.err // the graph may count as decoded what is not
	}
	return s
}
