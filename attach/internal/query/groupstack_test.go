package query

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/symbols"
)

// TestReadGroupStack checks which addresses are read of what programs keep.
func TestReadGroupStack(t *testing.T) {
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = binary.NativeEndian.AppendUint64(b, v)
		}
		return b
	}
	for _, test := range []struct {
		name  string
		value []byte
		want  GroupStack
		ok    bool
	}{
		{"two", words(7, 3, 0, 16, 1, 2, 99), GroupStack{PID: 7, Site: 3, Calls: symbols.Calls{PCs: []uint64{1, 2}}}, true},
		{"at an entry", words(7, 3, 5, 16, 1, 2, 99), GroupStack{PID: 7, Site: 3, Calls: symbols.Calls{PCs: []uint64{1, 5, 2}}}, true},
		{"too large", words(7, 3, 0, 32, 1, 2, 99), GroupStack{}, false},
		{"an error", words(7, 3, 0, 1<<64-14, 1), GroupStack{}, false},
		{"short", words(7, 3, 0), GroupStack{}, false},
		{"odd", words(7, 3, 0, 5, 1), GroupStack{}, false},
	} {
		st, err := ReadGroupStack(test.value)
		if d := cmp.Diff(test.want, st); test.ok && d != "" || (err == nil) != test.ok {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, d)
		}
	}
}

// TestStackHash checks that what differs has another hash: an address, the order, the length,
// the process.
func TestStackHash(t *testing.T) {
	seen := map[uint64]string{}
	check := func(pid int, pcs ...uint64) {
		h, what := StackHash(pid, symbols.Calls{PCs: pcs}), fmt.Sprint(pid, pcs)
		if other, ok := seen[h]; ok || h == 0 {
			t.Errorf("%s and %s have the hash %#x", what, other, h)
		}
		seen[h] = what
	}
	check(1)
	for i := range uint64(1000) {
		check(1, 0x400000+i)
		check(1, 0x400000+i, 0x400000)
		check(1, 0x7fff00000000+i<<12, 0x400000, i+1)
		check(2, 0x400000+i, 0x400000)
	}
	check(1, 0)
	check(1, 0, 0)
}
