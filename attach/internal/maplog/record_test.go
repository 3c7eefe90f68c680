package maplog

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// encode returns a record that says h, as the kernel writes it.
func encode(h happening) []byte {
	b := make([]byte, headerSize, headerSize+128)
	word := func(v uint64) { b = binary.NativeEndian.AppendUint64(b, v) }
	two := func(v, w int) {
		b = binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(b, uint32(v)), uint32(w))
	}
	misc := uint16(0)
	switch h.what {
	case unix.PERF_RECORD_FORK:
		two(h.pid, h.parent)
		two(h.pid, h.parent) // threads
		word(h.at)
	case unix.PERF_RECORD_COMM:
		misc = miscExec
		two(h.pid, h.pid)
		b = append(b, make([]byte, 16)...) // its name
	case unix.PERF_RECORD_LOST:
		word(1) // of the event
		word(h.lost)
	case unix.PERF_RECORD_MMAP2:
		m := &h.mapped
		two(h.pid, h.pid)
		word(m.start)
		word(m.end - m.start)
		word(m.offset)
		if id, _ := hex.DecodeString(m.file.buildID); len(id) > 0 {
			misc = miscBuildID
			b = append(b, byte(len(id)), 0, 0, 0)
			b = append(append(b, id...), make([]byte, 20-len(id))...)
		} else {
			word(m.file.device)
			word(m.file.inode)
			word(m.file.generation)
		}
		two(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		b = append(append(b, m.file.path...), make([]byte, 8-len(m.file.path)%8)...)
	}
	word(h.at)
	binary.NativeEndian.PutUint32(b, h.what)
	binary.NativeEndian.PutUint16(b[4:], misc)
	binary.NativeEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

var compare = cmp.AllowUnexported(happening{}, mapping{}, file{}, image{})

// happenings are one of each kind.
var happenings = []happening{
	{what: unix.PERF_RECORD_MMAP2, at: 99, pid: 7, mapped: mapping{start: 0x1000, end: 0x3000, offset: 0x3000, file: file{path: "/usr/lib/libx.so", buildID: "abcd"}}},
	{what: unix.PERF_RECORD_MMAP2, at: 1 << 63, pid: 1, mapped: mapping{start: 0, end: 1<<64 - 1, offset: 1<<64 - 1, file: file{path: "/home/a b\n", device: 8<<32 | 1, inode: 1<<64 - 1, generation: 3}}},
	{what: unix.PERF_RECORD_MMAP2, at: 3, pid: 1, mapped: mapping{start: 1, end: 2, file: file{path: "//anon"}}},
	{what: unix.PERF_RECORD_FORK, at: 5, pid: 8, parent: 7},
	{what: unix.PERF_RECORD_COMM, at: 6, pid: 8},
	{what: unix.PERF_RECORD_LOST, at: 7, lost: 9},
}

// TestParse checks what records say, and that one that is cut off does not say more.
func TestParse(t *testing.T) {
	for _, want := range happenings {
		rec := encode(want)
		got, ok := parse(rec, true)
		if d := cmp.Diff(want, got, compare); d != "" || !ok {
			t.Errorf("ok %v (-want +got):\n%s", ok, d)
		}
		for n := range rec {
			if got, ok := parse(rec[:n], true); ok && len(got.mapped.file.path) > len(want.mapped.file.path) {
				t.Errorf("%d bytes say %+v", n, got)
			}
		}
	}
}

// TestAbout checks that records of chosen processes, and of losses, are told from others.
func TestAbout(t *testing.T) {
	for _, h := range happenings {
		rec, lost := encode(h), h.what == unix.PERF_RECORD_LOST
		for _, test := range []struct {
			only map[int]bool
			want bool
		}{{nil, true}, {only([]int{h.pid, 99}), true}, {only([]int{99}), lost}} {
			if got := about(rec, test.only); got != test.want {
				t.Errorf("%+v is about %v: %v, want %v", h, test.only, got, test.want)
			}
		}
		for n := range rec {
			about(rec[:n], only([]int{99}))
		}
	}
}

// FuzzParse checks that what a record says, written again, says the same.
func FuzzParse(f *testing.F) {
	for _, h := range happenings {
		f.Add(encode(h))
	}
	f.Fuzz(func(t *testing.T, rec []byte) {
		h, ok := parse(rec, true)
		if !ok {
			return
		}
		if (h.pid <= 0) != (h.what == unix.PERF_RECORD_LOST) || h.what == unix.PERF_RECORD_MMAP2 && (h.mapped.end <= h.mapped.start || len(h.mapped.file.path) > maxPath) {
			t.Fatalf("a record says %+v", h)
		}
		again, ok := parse(encode(h), true)
		if d := cmp.Diff(h, again, compare); d != "" || !ok {
			t.Fatalf("written again: ok %v (-got +again):\n%s", ok, d)
		}
	})
}
