package maplog

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/symbols"
)

// kernelLog returns a log whose rings the test fills in place of the kernel.
func kernelLog(t *testing.T, cpus int) *Log {
	t.Helper()
	l := newLog(nil)
	for range cpus {
		l.rings = append(l.rings, &ring{page: new(unix.PerfEventMmapPage), data: make([]byte, 4096)})
	}
	return l
}

// tell writes a record to the ring as the kernel does.
func (r *ring) tell(h happening) {
	rec := encode(h)
	head := r.page.Data_head
	for i, b := range rec {
		r.data[(head+uint64(i))%uint64(len(r.data))] = b
	}
	r.page.Data_head = head + uint64(len(rec))
}

func forked(at uint64, pid, parent int) happening {
	return happening{what: unix.PERF_RECORD_FORK, at: at, pid: pid, parent: parent}
}

func executed(at uint64, pid int) happening {
	return happening{what: unix.PERF_RECORD_COMM, at: at, pid: pid}
}

func mapsFile(at uint64, pid int, path string) happening {
	return happening{what: unix.PERF_RECORD_MMAP2, at: at, pid: pid, mapped: mapping{start: at << 12, end: (at + 1) << 12, file: file{path: path, buildID: "ab"}}}
}

// paths returns the paths of an image's modules.
func (im *Image) paths() (out []string) {
	for _, m := range im.Modules {
		out = append(out, m.Path)
	}
	return out
}

// TestOrder checks that a process is known which has told two CPUs what it did, the second one
// after the log has read what the first one was told before: it maps a library, goes to another
// CPU, and forks there.
func TestOrder(t *testing.T) {
	l := kernelLog(t, 2)
	a, b := l.rings[0], l.rings[1]
	a.tell(executed(1, 7))
	l.read()

	l.look()
	b.tell(forked(3, 8, 7)) // while a has been read
	l.take()
	if n := len(l.told); n != 1 || l.lives[8] != nil {
		t.Fatalf("%d happenings wait, process 8 is %+v: want one, and nothing known", n, l.lives[8])
	}
	a.tell(mapsFile(2, 7, "/lib"))
	b.tell(executed(4, 7))
	a.tell(mapsFile(5, 7, "/other"))
	if s := l.State(8); s.Images != 1 || len(l.told) != 0 {
		t.Errorf("%d images and %d happenings that wait, want 1 and none", s.Images, len(l.told))
	}
	if child := l.Images(8); len(child) != 1 || !slices.Equal(child[0].paths(), []string{"/lib"}) || !child[0].Whole {
		t.Errorf("the child is %+v, want /lib", child)
	}
	want := []Image{
		{Modules: []symbols.Module{{Path: "/other", BuildID: "ab", Start: 5 << 12, End: 6 << 12}}, Whole: true},
		{Modules: []symbols.Module{{Path: "/lib", BuildID: "ab", Start: 2 << 12, End: 3 << 12}}, Whole: true},
	}
	if d := cmp.Diff(want, l.Images(7)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestWrapped checks that a ring is read beyond its end, at each place where a record may be cut.
func TestWrapped(t *testing.T) {
	l := kernelLog(t, 1)
	r := l.rings[0]
	for i := range uint64(1000) {
		r.tell(forked(2*i, int(i+1), 1<<20))
		r.tell(mapsFile(2*i+1, int(i+1), "/lib"+string(make([]byte, i%5*8))))
		l.read()
		if p := l.lives[int(i+1)]; p == nil || p.size() != 1 {
			t.Fatalf("after %d bytes: process %d is %+v, want one mapping", r.page.Data_head, i+1, p)
		}
	}
}

// FuzzRing checks that no content of a ring makes its reader wait or read what is not there.
func FuzzRing(f *testing.F) {
	var all []byte
	for _, h := range happenings {
		all = append(all, encode(h)...)
	}
	f.Add(all, uint64(0), uint64(len(all)))
	f.Add(all, uint64(64), uint64(len(all)+64))
	f.Add(binary.NativeEndian.AppendUint64(nil, 0xffff<<48), uint64(8), uint64(1<<40))
	f.Fuzz(func(t *testing.T, data []byte, tail, head uint64) {
		r := &ring{page: &unix.PerfEventMmapPage{Data_head: head &^ 7}, data: make([]byte, (len(data)+15)&^7)}
		copy(r.data, data)
		r.tail.Store(tail &^ 7)
		read := 0
		r.read(func(rec []byte, at uint64) {
			parse(rec, true)
			read += len(rec)
		})
		if read > len(r.data) || r.waiting() || r.page.Data_tail != head&^7 {
			t.Errorf("%d bytes of %d were read, up to %d of %d", read, len(r.data), r.page.Data_tail, head&^7)
		}
	})
}
