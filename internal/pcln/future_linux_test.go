package pcln_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/pcln"
)

// wordMoved is the index of a word of moduledata, enoptrbss, in front of the words that come and
// go (runtime/symtab.go).
const wordMoved = 31

// inlined returns the functions that run at many addresses of this program, and how many
// of them are inlined.
func inlined(table *pcln.Table) (frames []pcln.Frame, count int) {
	here, _, _, _ := runtime.Caller(0)
	for pc := here &^ 0xffff; pc < here+1<<16; pc += 7 {
		frames = table.Append(frames, uint64(pc))
	}
	for _, f := range frames {
		if f.Inlined {
			count++
		}
	}
	return frames, count
}

// TestMovedWords reads programs whose moduledata has more words, or fewer, in front of
// that which leads to inlined calls, as other versions of Go have.
func TestMovedWords(t *testing.T) {
	program := self(t)
	table, err := read(t, program)
	if err != nil {
		t.Fatal(err)
	}
	want, count := inlined(table)
	if count < 100 {
		t.Fatalf("got %d inlined functions, want more", count)
	}
	for _, more := range []int{-2, -1, 1, 3, 5} {
		changed := bytes.Clone(program)
		words := section(t, changed, ".go.module")
		copy(words[8*(wordMoved+more):], section(t, program, ".go.module")[8*wordMoved:])
		table, err := read(t, changed)
		if err != nil {
			t.Errorf("%d more words: %v", more, err)
		} else if got, n := inlined(table); !reflect.DeepEqual(got, want) {
			t.Errorf("%d more words: got other functions, %d of which are inlined, want %d", more, n, count)
		}
	}
}

// TestUnknownVersion reads programs of versions of Go that are not known. Parts that cannot be
// known are left out, and reported with the version.
func TestUnknownVersion(t *testing.T) {
	version := runtime.Version()
	for name, test := range map[string]struct {
		change  func(program []byte)
		nothing bool   // whether there is no table
		want    string // in the error
	}{
		"magic": {func(program []byte) {
			binary.LittleEndian.PutUint32(section(t, program, ".gopclntab"), 0xffffffe0)
		}, true, "the table of functions of " + version + " is "},
		"gofunc": {func(program []byte) {
			words := section(t, program, ".go.module")[8*wordMoved:]
			for i := range 20 {
				word := words[8*i:]
				binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)+64)
			}
		}, false, "where " + version + " has inlined calls is "},
		"moduledata": {func(program []byte) {
			clear(section(t, program, ".go.module")[8:16])
		}, false, "where " + version + " has inlined calls is "},
	} {
		t.Run(name, func(t *testing.T) {
			changed := self(t)
			test.change(changed)
			table, err := read(t, changed)
			if !errors.Is(err, pcln.ErrFormat) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got error %v, want %s…", err, test.want)
			}
			if test.nothing != (table == nil) {
				t.Fatalf("got table %p", table)
			}
			if table == nil {
				return
			}
			frames, n := inlined(table)
			if n != 0 || len(frames) < 1000 {
				t.Errorf("got %d functions, %d of which are inlined, want functions and none", len(frames), n)
			}
		})
	}
}
