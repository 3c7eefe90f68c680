package pcln

import (
	"bytes"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// magic returns the number with which tables of a version begin.
func magic(v version) uint32 {
	for n, other := range magics {
		if other == v {
			return n
		}
	}
	panic("no such version")
}

// table returns a table of n functions as a version of Go writes it, without line
// numbers. Addresses begin at text.
func table(bo binary.AppendByteOrder, v version, ptr byte, n int, text uint64) []byte {
	word := func(b []byte, size int, n uint64) []byte {
		if size == 4 {
			return bo.AppendUint32(b, uint32(n))
		}
		return bo.AppendUint64(b, n)
	}
	field, words := int(ptr), 1
	switch v {
	case go116:
		words = 7
	case go118, go120:
		words, field = 8, 4
		text = 0 // addresses count from text
	}
	const info = 40 // runtime._func
	header := 8 + words*int(ptr)
	funcs := header + (2*n+1)*field + 4 // Go 1.2 has the offset of its files there
	names := funcs + n*info
	end := names
	var text2 []byte
	offsets := make([]int, n)
	for i := range n {
		offsets[i] = end - names
		text2 = fmt.Appendf(text2, "main.f%d\x00", i)
		end = names + len(text2)
	}
	b := bo.AppendUint32(nil, magic(v))
	b = append(b, 0, 0, 1, ptr)
	base, nameBase := 0, 0 // the origins of offsets
	switch v {
	case go12:
		b = word(b, int(ptr), uint64(n))
		nameBase = names
	case go116:
		base = header
		for _, v := range []int{n, 0, names, end, end, names, header} {
			b = word(b, int(ptr), uint64(v))
		}
	default:
		base = header
		for _, v := range []int{n, 0, 0, names, end, end, names, header} {
			b = word(b, int(ptr), uint64(v))
		}
	}
	for i := range n {
		b = word(word(b, field, text+uint64(16*i)), field, uint64(funcs+i*info-base))
	}
	b = word(b, field, text+uint64(16*n))
	b = bo.AppendUint32(b, uint32(end))
	for i := range n {
		start := len(b)
		b = word(b, field, text+uint64(16*i))
		b = bo.AppendUint32(b, uint32(nameBase+offsets[i]))
		b = append(b, make([]byte, info-(len(b)-start))...)
	}
	b = append(b, text2...)
	return append(b, make([]byte, 16)...) // no files
}

// TestFunctions compares with package debug/gosym the functions in tables of all
// versions, and in some that are damaged behind their header.
func TestFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what bytes mean")
	}
	const n, text = 20, 0x401000
	for _, bo := range []interface {
		binary.AppendByteOrder
		binary.ByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		for _, v := range magics {
			for _, ptr := range []byte{4, 8} {
				data := table(bo, v, ptr, n, text)
				for i := range 200 {
					damaged := append([]byte(nil), data...)
					rnd := rand.New(rand.NewPCG(1, uint64(i)))
					if i > 0 {
						damaged[72+rnd.IntN(len(data)-72)] ^= byte(1 << rnd.IntN(8))
					}
					got, err := New(damaged, bo)
					want, wantErr := gosym.NewTable(nil, gosym.NewLineTable(damaged, text))
					if err == nil && got.counts() {
						got.text = text
					}
					if i == 0 && (err != nil || wantErr != nil || len(slices.Collect(got.Functions())) != n || len(want.Funcs) != n) {
						t.Fatalf("version %d of %d bytes: got %+v, %v, want %d functions, %v", v, ptr, got, err, n, wantErr)
					}
					if err != nil || wantErr != nil {
						continue
					}
					named := map[string]bool{}
					for fn := range got.Functions() {
						name, _, _ := bytes.Cut(got.Names()[fn.Name:], []byte{0})
						named[fmt.Sprintf("%s %#x %#x", name, fn.Addr, fn.End-fn.Addr)] = true
					}
					// Package gosym lets a name reach beyond the table of names.
					for _, fn := range want.Funcs {
						if len(fn.Name) > len("main.f10") {
							continue
						}
						if s := fmt.Sprintf("%s %#x %#x", fn.Name, fn.Entry, fn.End-fn.Entry); fn.End >= fn.Entry && fn.Name != "" && !named[s] {
							t.Errorf("version %d of %d bytes, %d: %s is not found", v, ptr, i, s)
						}
					}
				}
			}
		}
	}
}
