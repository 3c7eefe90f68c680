package reader

import (
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// table returns a table of n functions as a version of Go writes it, without line
// numbers. Addresses begin at text.
func table(bo binary.AppendByteOrder, magic uint32, ptr byte, n int, text uint64) []byte {
	word := func(b []byte, size int, v uint64) []byte {
		if size == 4 {
			return bo.AppendUint32(b, uint32(v))
		}
		return bo.AppendUint64(b, v)
	}
	field, words := int(ptr), 1
	switch magic {
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
	b := bo.AppendUint32(nil, magic)
	b = append(b, 0, 0, 1, ptr)
	base, nameBase := 0, 0 // the origins of offsets
	switch magic {
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

// TestPclntab compares with package debug/gosym the functions in tables of all
// versions, and in some that are damaged behind their header.
func TestPclntab(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what bytes mean")
	}
	const n, text = 20, 0x401000
	free := func(uint64) error { return nil }
	for _, bo := range []interface {
		binary.AppendByteOrder
		binary.ByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		for _, magic := range []uint32{go12, go116, go118, go120} {
			for _, ptr := range []byte{4, 8} {
				data := table(bo, magic, ptr, n, text)
				for i := range 200 {
					damaged := append([]byte(nil), data...)
					rnd := rand.New(rand.NewPCG(1, uint64(i)))
					if i > 0 {
						damaged[72+rnd.IntN(len(data)-72)] ^= byte(1 << rnd.IntN(8))
					}
					got, err := parsePclntab(damaged, bo, free)
					want, wantErr := gosym.NewTable(nil, gosym.NewLineTable(damaged, text))
					if i == 0 && (err != nil || wantErr != nil || len(got.functions) != n || len(want.Funcs) != n) {
						t.Fatalf("%#x of %d bytes: got %+v, %v, want %d functions, %v", magic, ptr, got, err, n, wantErr)
					}
					if err != nil || wantErr != nil {
						continue
					}
					named := map[string]bool{}
					out, _ := got.appendFunctions(nil)
					for _, fn := range out {
						addr := fn.addr
						if magic == go118 || magic == go120 {
							addr += text
						}
						named[fmt.Sprintf("%s %#x %#x", fn.name, addr, fn.size)] = true
					}
					// Package gosym lets a name reach beyond the table of names.
					for _, fn := range want.Funcs {
						if len(fn.Name) > len("main.f10") {
							continue
						}
						if s := fmt.Sprintf("%s %#x %#x", fn.Name, fn.Entry, fn.End-fn.Entry); fn.End >= fn.Entry && fn.Name != "" && !named[s] {
							t.Errorf("%#x of %d bytes, %d: %s is not found", magic, ptr, i, s)
						}
					}
				}
			}
		}
	}
}
