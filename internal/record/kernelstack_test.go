package record_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
)

// TestKernelStack checks which addresses of the kernel are read of a record's end, and that the program's
// are found in front of them.
func TestKernelStack(t *testing.T) {
	words := func(w ...int64) []byte {
		b := make([]byte, record.HeaderSize+3) // and a string of 3 bytes
		for _, v := range w {
			b = binary.NativeEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	for _, test := range []struct {
		name            string
		st              record.Stack
		rec             []byte
		kernel, program []uint64
		err             string // of the kernel's part
	}{
		{"both", record.Stack{Most: 4, Kernel: 4}, words(0x10, 0x20, 16, -3, -2, 16), []uint64{1<<64 - 3, 1<<64 - 2}, []uint64{0x10, 0x20}, ""},
		{"return address", record.Stack{Most: 4, Kernel: 4, Entry: true}, words(0x10, 0x20, 8, -3, 8), []uint64{1<<64 - 3}, []uint64{0x10, 0x20}, ""},
		{"no kernel's", record.Stack{Most: 4, Kernel: 4}, words(0x10, 8, 0), nil, []uint64{0x10}, ""},
		{"refused", record.Stack{Most: 4, Kernel: 4}, words(0x10, 8, -14), nil, []uint64{0x10}, "its own part of the stack: bad address"},
		{"a thread of the kernel", record.Stack{Most: 4, Kernel: 4}, words(-14, -3, 8), []uint64{1<<64 - 3}, nil, ""},
		{"not asked for", record.Stack{Most: 4}, words(0x10, 8), nil, []uint64{0x10}, ""},
		{"more than are read", record.Stack{Most: 4, Kernel: 1}, words(0x10, 8, -3, -2, 16), nil, nil, "ends within"},
		{"odd", record.Stack{Most: 4, Kernel: 4}, words(0x10, 8, -3, 7), nil, nil, "ends within"},
		{"huge", record.Stack{Most: 4, Kernel: 4}, words(0x10, 8, 1<<62), nil, nil, "ends within"},
		{"empty", record.Stack{Most: 4, Kernel: 4}, nil, nil, nil, "ends within"},
		{"nothing in front", record.Stack{Most: 4, Kernel: 1 << 10}, make([]byte, record.HeaderSize+8), nil, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			kernel, err := test.st.AppendKernel(nil, test.rec)
			if !slices.Equal(kernel, test.kernel) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("the kernel's: %#x, %v, want %#x, %q", kernel, err, test.kernel, test.err)
			}
			program, err := test.st.Append(nil, test.rec)
			if !slices.Equal(program, test.program) || (err == nil) != (test.program != nil) {
				t.Errorf("the program's: %#x, %v, want %#x", program, err, test.program)
			}
			if start, err := test.st.Start(test.rec); test.program != nil && (err != nil || start != record.HeaderSize+3) {
				t.Errorf("it begins at %d, %v, want %d", start, err, record.HeaderSize+3)
			}
			if n := len(test.rec) - record.HeaderSize - 3; test.program != nil && n > test.st.Size() {
				t.Errorf("stacks have up to %d bytes, and this one has %d", test.st.Size(), n)
			}
		})
	}
	st := record.Stack{Most: 4, Copied: 32, Registers: 16, Kernel: 4}
	registers, stack, err := st.Copy(words(1, 2, 3, 24, -3, 8))
	if err != nil || len(registers) != 16 || len(stack) != 8 || stack[0] != 3 {
		t.Errorf("copied are registers %v and %v of the stack, %v", registers, stack, err)
	}
	if want := 16 + 32 + 8 + 4*8 + 8; st.Size() != want {
		t.Errorf("a copy has up to %d bytes, want %d", st.Size(), want)
	}
}
