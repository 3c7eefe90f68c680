//go:build !race

// The race detector hides what files cost: make test runs these without it.

package reader_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bounded fails the test if f takes longer than 3 s or allocates more than 1 GiB in
// all, the limits for hostile files. It counts the best of three runs, because
// machines are noisy.
func bounded(t *testing.T, f func()) {
	t.Helper()
	limit := 3 * time.Second
	if testing.Short() {
		limit = time.Minute
	}
	var took time.Duration
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took = turns.Spent(f)
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		if took > limit/3 || n > 512<<20 {
			t.Logf("took %v and %d MiB", took, n>>20)
		}
		if n > 1<<30 {
			t.Errorf("allocated %d MiB, want at most 1024", n>>20)
		}
		if took <= limit {
			return
		}
	}
	t.Errorf("took %v, want at most %v", took, limit)
}

// TestBudget checks that files which make much of little cost little, and that one
// error says why.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes the processor's time, whatever the kernel")
	}
	le := binary.LittleEndian
	thousand := someNotes(1000, "8@%rdi -4@foo(%rip)")
	long := strings.Repeat("a", 1<<20)
	for name, make := range map[string]func() []byte{
		"sections that share notes": func() []byte {
			s := section{name: stapsdt, Section64: elf.Section64{Type: note, Off: sectionStart, Size: uint64(len(thousand))}}
			return linked(append([]section{{name: stapsdt, data: thousand, Section64: elf.Section64{Type: note}}}, times(1999, s)...)...)
		},
		"sections that share packed notes": func() []byte {
			data := zlibbed(bytes.Repeat(thousand, 60<<20/len(thousand)))
			s := section{name: stapsdt, Section64: elf.Section64{Type: note, Flags: packed, Off: sectionStart, Size: uint64(len(data))}}
			return linked(append([]section{{name: stapsdt, data: data, Section64: s.Section64}}, times(29, s)...)...)
		},
		"sections that share packed nothing": func() []byte {
			data := zlibbed(bytes.Repeat([]byte{0}, 60<<20))
			s := section{name: stapsdt, Section64: elf.Section64{Type: note, Flags: packed, Off: sectionStart, Size: uint64(len(data))}}
			return linked(append([]section{{name: stapsdt, data: data, Section64: s.Section64}}, times(29, s)...)...)
		},
		"packed symbols": func() []byte {
			data := zlibbed(bytes.Repeat(symbols(1, func(int) elf.Sym64 { return elf.Sym64{Name: 1, Info: function, Shndx: 1, Value: 64} }), 2_000_000))
			return linked(section{name: ".symtab", data: data, Section64: elf.Section64{Type: symtab, Flags: packed, Link: 2}}, section{name: ".strtab", data: []byte("\x00f\x00")})
		},
		"names that overlap": func() []byte {
			data := symbols(20_000, func(i int) elf.Sym64 {
				return elf.Sym64{Name: uint32(i + 1), Info: function, Shndx: 1, Value: uint64(i)}
			})
			return linked(section{name: ".symtab", data: data, Section64: elf.Section64{Type: symtab, Link: 2}}, section{name: ".strtab", data: []byte("\x00" + long + "\x00")})
		},
		"names of Go functions that overlap": func() []byte {
			const n = 20_000
			data := le.AppendUint32(nil, 0xfffffff1)
			data = append(data, 0, 0, 1, 8)
			header := 8 + 8*8
			names := header + n*8 + 4 + n*8
			for _, v := range []uint64{n, 0, 0, uint64(names), 0, 0, 0, uint64(header)} {
				data = le.AppendUint64(data, v)
			}
			for i := range n {
				data = le.AppendUint32(le.AppendUint32(data, uint32(i)), uint32(n*8+4+i*8))
			}
			data = le.AppendUint32(data, n)
			for i := range n {
				data = le.AppendUint32(le.AppendUint32(data, uint32(i)), uint32(i))
			}
			data = append(append(data, long...), 0)
			return linked(section{name: ".gopclntab", data: data, Section64: elf.Section64{Type: progbits}},
				section{name: ".text", Section64: elf.Section64{Type: progbits, Addr: 0x1000, Size: 1 << 20}})
		},
		"millions of malformed notes": func() []byte {
			bad := append(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 8), 0), 3), "stapsdt\x00"...)
			return linked(section{name: stapsdt, data: bytes.Repeat(bad, 2_000_000), Section64: elf.Section64{Type: note}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := make()
			bounded(t, func() {
				_, _, errs := everything(bytes.NewReader(data))
				switch {
				case name == "millions of malformed notes":
					if len(errs) != 101 || !strings.Contains(errs[100].Error(), "more than 100") {
						t.Errorf("got %d errors, want 100 and one that says it", len(errs))
					}
				case len(errs) != 1 || !errors.Is(errs[0], safeelf.ErrBudget) && !strings.Contains(errs[0].Error(), "overlap"):
					t.Errorf("%d bytes: got %v, want one error that says what the file does", len(data), errs)
				}
			})
		})
	}
}

// TestHugeTables checks that a file whose headers declare huge tables, and which is
// huge, costs no more than its name.
func TestHugeTables(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what bytes mean")
	}
	head := linked(section{name: stapsdt, data: someNotes(1, ""), Section64: elf.Section64{Type: note}})
	le := binary.LittleEndian
	shoff := le.Uint64(head[40:])
	for name, change := range map[string]func(b []byte){
		"large entries": func(b []byte) { le.PutUint16(b[58:], 0xffff) },
		"entries":       func(b []byte) {},
		"segments":      func(b []byte) { le.PutUint16(b[54:], 0xffff); le.PutUint16(b[56:], 0xfffe) },
		"too many segments": func(b []byte) {
			le.PutUint16(b[56:], 0xffff)
			le.PutUint32(b[shoff+44:], 1<<31) // sh_info
		},
	} {
		b := bytes.Clone(head)
		le.PutUint64(b[shoff+32:], 1<<18) // sh_size of section 0: e_shnum
		change(b)
		bounded(t, func() {
			probes, _, errs := everything(sparse(t, b, 17<<30))
			if name == "entries" {
				if probes != 1 || len(errs) != 0 {
					t.Errorf("%s: got %d probes and %v", name, probes, errs)
				}
			} else if len(errs) != 1 {
				t.Errorf("%s: got %v, want an error", name, errs)
			}
		})
	}
}

// TestRelocationsOfNothing has 10,000 sections share relocations in a hole of the
// file. A tracer needs one of them.
func TestRelocationsOfNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes the processor's time, whatever the kernel")
	}
	s := section{name: ".rela", Section64: elf.Section64{Type: rela, Flags: uint64(elf.SHF_ALLOC), Link: 1, Off: 1 << 20, Size: 64 << 20}}
	head := linked(append([]section{
		{name: ".dynsym", data: symbols(3, func(i int) elf.Sym64 { return elf.Sym64{Name: 1} }), Section64: elf.Section64{Type: dynsym, Link: 2}},
		{name: ".dynstr", data: []byte("\x00puts\x00")},
	}, times(10_000, s)...)...)
	file := sparse(t, head, 100<<20)
	bounded(t, func() {
		f, err := reader.NewFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := f.Slot("puts"); ok {
			t.Errorf("got a slot at %#x", at)
		}
		everything(file)
	})
}

// TestLookupsOfNothing looks up symbols that do not exist, or are all alike, as often
// as a file has arguments that name one.
func TestLookupsOfNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes the processor's time, whatever the kernel")
	}
	long := strings.Repeat("a", 3000)
	for name, symbol := range map[string]func(i int) elf.Sym64{
		"imports": func(i int) elf.Sym64 { return elf.Sym64{Name: uint32(1 + i%3)} },
		"alike":   func(i int) elf.Sym64 { return elf.Sym64{Name: 1, Shndx: 1, Value: uint64(i)} },
		"functions": func(i int) elf.Sym64 {
			return elf.Sym64{Name: 1, Info: function, Shndx: 1, Value: uint64(i % 64), Size: 1}
		},
	} {
		data := linked(
			section{name: stapsdt, data: someNotes(20_000, "8@nothing(%rip) 8@aa(%rip)"), Section64: elf.Section64{Type: note}},
			section{name: ".dynsym", data: symbols(200_000, symbol), Section64: elf.Section64{Type: dynsym, Link: 3}},
			section{name: ".dynstr", data: []byte("\x00" + long + "\x00")},
		)
		t.Run(name, func(t *testing.T) {
			bounded(t, func() {
				if probes, _, _ := everything(bytes.NewReader(data)); probes != 20_000 {
					t.Errorf("got %d probes, want 20000", probes)
				}
			})
		})
	}
}

// TestManyNamesOfAStruct gives each of many probes a type of its own: another name of
// one large struct, or a struct that leads to all before it.
func TestManyNamesOfAStruct(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes the processor's time, whatever the kernel")
	}
	const n = 20_000
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	wide := &btf.Struct{Name: "wide"}
	for i := range 2000 {
		wide.Members = append(wide.Members, btf.Member{Name: fmt.Sprint("m", i), Type: u64, Offset: btf.Bits(64 * i)})
	}
	wide.Size = 8 * 2000
	chain := func() (out []btf.Type) {
		var last btf.Type = u64
		for i := range n {
			last = &btf.Struct{Name: fmt.Sprint("s", i), Size: 8, Members: []btf.Member{{Name: "next", Type: &btf.Pointer{Target: last}}}}
			out = append(out, last)
		}
		return out
	}
	names := func() (out []btf.Type) {
		for i := range n {
			out = append(out, &btf.Typedef{Name: fmt.Sprint("t", i), Type: wide})
		}
		return out
	}
	for name, make := range map[string]func() []btf.Type{"names": names, "chain": chain} {
		t.Run(name, func(t *testing.T) {
			types := make()
			b, err := btf.NewBuilder(types, nil)
			if err != nil {
				t.Fatal(err)
			}
			var records []notes.TypeRecord
			var raw []byte
			for i, typ := range types {
				id, err := b.Add(typ)
				if err != nil {
					t.Fatal(err)
				}
				p := notes.Note{Provider: "p", Name: fmt.Sprint("n", i), Location: uint64(i)}
				raw = p.Append(raw, binary.LittleEndian, notes.ELFCLASS64)
				records = append(records, notes.TypeRecord{Provider: p.Provider, Name: p.Name, Location: p.Location, Type: uint32(id)})
			}
			spec, err := b.Marshal(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			data := linked(
				section{name: stapsdt, data: raw, Section64: elf.Section64{Type: note}},
				section{name: notes.TypesSectionName, data: notes.AppendTypes(nil, binary.LittleEndian, records)},
				section{name: ".BTF", data: spec},
			)
			bounded(t, func() {
				probes, _, errs := everything(bytes.NewReader(data))
				if probes != n || len(errs) == 0 || len(errs) > 101 {
					t.Errorf("%d bytes: got %d probes and %d errors, want all and up to 101", len(data), probes, len(errs))
				}
			})
		})
	}
}

// TestLargest reads files of the largest size that is read, filled with what costs
// most.
func TestLargest(t *testing.T) {
	if testing.Short() {
		t.Skip("short: makes files of 100 MB")
	}
	table := symbols(1<<12, func(i int) elf.Sym64 {
		return elf.Sym64{Name: uint32(1 + i%8), Info: function, Shndx: 1, Value: uint64(i * 7919 % (1 << 20)), Size: 1}
	})
	for name, make := range map[string]func() []section{
		"notes": func() []section {
			one := notes.Note{Provider: "p", Name: "n"}.Append(nil, binary.LittleEndian, notes.ELFCLASS64)
			return []section{{name: stapsdt, data: bytes.Repeat(one, (64<<20)/len(one)), Section64: elf.Section64{Type: note}}}
		},
		"symbols": func() []section {
			data := bytes.Repeat(table, 90<<20/len(table))
			return []section{
				{name: ".symtab", data: data, Section64: elf.Section64{Type: symtab, Link: 2}}, {name: ".strtab", data: []byte("\x00abcdefgh\x00")},
				{name: ".dynsym", Section64: elf.Section64{Type: dynsym, Link: 2, Off: sectionStart, Size: uint64(len(data))}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := linked(make()...)
			bounded(t, func() { read(bytes.NewReader(data)) })
		})
	}
}
