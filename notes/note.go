package notes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Section names, as producers write them and consumers look for them.
const (
	SectionName      = ".note.stapsdt" // SHT_NOTE, one Note per probe site
	BaseSectionName  = ".stapsdt.base" // its address minus Note.Base is the distance by which prelink has moved the object
	ProbeSectionName = ".probes"       // the semaphores
	TypesSectionName = ".stapsdt.types"
)

const (
	noteOwner = "stapsdt\x00"
	noteType  = 3 // NT_STAPSDT, sys/sdt.h: _SDT_NOTE_TYPE
)

// ErrTruncated is wrapped by every error for a structure that ends beyond the data
// that should hold it.
var ErrTruncated = errors.New("truncated")

// Note is one probe site, as its note describes it. Addresses are the addresses of link time,
// unadjusted.
type Note struct {
	Provider string
	Name     string

	// Location is the address of the site's first instruction.
	Location uint64
	// Base is the address that .stapsdt.base had when the object was linked,
	// 0 if the object has none.
	Base uint64
	// Semaphore is the address of the site's 16-bit counter, 0 if it has none.
	Semaphore uint64

	// Args is the argument string; see [ParseArgs].
	Args string
}

// wordSize returns the size in bytes of an address in a note of class c.
func wordSize(c Class) int {
	if c == ELFCLASS32 {
		return 4
	}
	return 8
}

// decodeDesc decodes a note's description into n: three addresses and three strings.
func decodeDesc(n *Note, desc []byte, order binary.ByteOrder, class Class, texts *arena) error {
	word := wordSize(class)
	if len(desc) < 3*word {
		return fmt.Errorf("description of %d bytes is too short for three addresses: %w", len(desc), ErrTruncated)
	}
	addr := func(i int) uint64 {
		if word == 4 {
			return uint64(order.Uint32(desc[i*4:]))
		}
		return order.Uint64(desc[i*8:])
	}
	n.Location, n.Base, n.Semaphore = addr(0), addr(1), addr(2)
	desc = desc[3*word:]
	var ends [3]int
	for i, pos := 0, 0; i < len(ends); i++ {
		length := bytes.IndexByte(desc[pos:], 0)
		if length < 0 {
			return fmt.Errorf("%s is not terminated: %w", [...]string{"provider", "name", "argument string"}[i], ErrTruncated)
		}
		ends[i] = pos + length
		pos = ends[i] + 1
	}
	if texts == nil {
		return nil
	}
	text := texts.string(desc[:ends[2]])
	n.Provider, n.Name, n.Args = text[:ends[0]], text[ends[0]+1:ends[1]], text[ends[1]+1:]
	return nil
}

// arena makes strings that share memory, so that a section of many notes does not
// cost an allocation for each. Every string keeps its whole block alive.
type arena struct{ block strings.Builder }

// arenaBlock is the size of a block: small enough that a few kept notes hold little
// memory, and large enough for a few hundred notes.
const arenaBlock = 16 << 10

func (a *arena) string(b []byte) string {
	if len(b) > arenaBlock/4 {
		return string(b)
	}
	if len(b) > a.block.Cap()-a.block.Len() {
		a.block = strings.Builder{}
		a.block.Grow(arenaBlock)
	}
	start := a.block.Len()
	a.block.Write(b)
	return a.block.String()[start:]
}

// Append appends the encoded note to dst, padded so that another note can
// follow, and returns the result. The strings must hold no NUL byte.
func (n Note) Append(dst []byte, order binary.AppendByteOrder, class Class) []byte {
	descsz := 3*wordSize(class) + len(n.Provider) + len(n.Name) + len(n.Args) + 3
	dst = order.AppendUint32(dst, uint32(len(noteOwner)))
	dst = order.AppendUint32(dst, uint32(descsz))
	dst = order.AppendUint32(dst, noteType)
	dst = append(dst, noteOwner...)
	for _, a := range [...]uint64{n.Location, n.Base, n.Semaphore} {
		if class == ELFCLASS32 {
			dst = order.AppendUint32(dst, uint32(a))
		} else {
			dst = order.AppendUint64(dst, a)
		}
	}
	for _, s := range [...]string{n.Provider, n.Name, n.Args} {
		dst = append(append(dst, s...), 0)
	}
	for pad := align4(uint64(descsz)) - uint64(descsz); pad > 0; pad-- {
		dst = append(dst, 0)
	}
	return dst
}

// Size returns the number of bytes that Append adds.
func (n Note) Size(class Class) int {
	descsz := 3*wordSize(class) + len(n.Provider) + len(n.Name) + len(n.Args) + 3
	return 12 + len(noteOwner) + int(align4(uint64(descsz)))
}

func align4(n uint64) uint64 { return (n + 3) &^ 3 }
