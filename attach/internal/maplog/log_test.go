package maplog

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

func openLog(t *testing.T, pids []int) *Log {
	l, err := Open(pids)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		needs.Skip(t, "needs CAP_PERFMON: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.Follow(func(int) {})
	return l
}

// TestEnded checks that it is known what a process had mapped that has ended: this test's own
// program, as the program itself says.
func TestEnded(t *testing.T) {
	if os.Getenv("MAPLOG_ENDED") != "" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := openLog(t, nil)
	cmd := exec.Command(self, "-test.run=^TestEnded$")
	cmd.Env = append(os.Environ(), "MAPLOG_ENDED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := cmd.Process.Pid
	if n, changes := l.State(pid); n != 2 || changes == 0 {
		t.Errorf("%d images, of the fork and of what was executed: want 2", n)
	}
	images := l.Images(pid)
	if len(images) == 0 || !images[0].Whole {
		t.Fatalf("images %+v, want a whole one", images)
	}
	space, err := symbols.NewResolver(nil).Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	find := func(modules []symbols.Module) (found symbols.Module) {
		i := slices.IndexFunc(modules, func(m symbols.Module) bool { return m.Path == self })
		if i < 0 {
			t.Fatalf("%s is not among %+v", self, modules)
		}
		found = modules[i]
		found.End -= found.Start
		found.Start = 0
		return found
	}
	if d := cmp.Diff(find(space.Modules()), find(images[0].Modules)); d != "" {
		t.Errorf("(-this +ended):\n%s", d)
	}
}

// TestOnly checks that nothing is known of processes that were not asked for.
func TestOnly(t *testing.T) {
	l := openLog(t, []int{os.Getpid()})
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n, _ := l.State(cmd.Process.Pid); n != 0 {
		t.Errorf("%d images of a process that was not asked for", n)
	}
	l.Close()
	if n, _ := l.State(os.Getpid()); n != 0 {
		t.Errorf("%d images of a log that is closed, of a process that mapped nothing", n)
	}
}

// record returns a PERF_RECORD_MMAP2 as the kernel writes it.
func mmapRecord(path string) []byte {
	b := make([]byte, headerSize+64)
	binary.NativeEndian.PutUint32(b, unix.PERF_RECORD_MMAP2)
	binary.NativeEndian.PutUint16(b[4:], miscBuildID)
	word := func(at int, v uint64) { binary.NativeEndian.PutUint64(b[headerSize+at:], v) }
	binary.NativeEndian.PutUint32(b[headerSize:], 7)
	word(8, 0x1000)
	word(16, 0x2000)
	word(24, 0x3000)
	b[headerSize+32], b[headerSize+36], b[headerSize+37] = 2, 0xab, 0xcd
	b = append(append(b, path...), make([]byte, 8-len(path)%8)...)
	b = binary.NativeEndian.AppendUint64(b, 99)
	binary.NativeEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

// TestParse checks what a record says, and that one that is cut off says nothing else.
func TestParse(t *testing.T) {
	rec := mmapRecord("/usr/lib/libx.so")
	want := happening{what: unix.PERF_RECORD_MMAP2, at: 99, pid: 7, mapped: mapping{start: 0x1000, end: 0x3000, offset: 0x3000, file: file{path: "/usr/lib/libx.so", buildID: "abcd"}}}
	got, ok := parse(rec)
	if d := cmp.Diff(want, got, cmp.AllowUnexported(happening{}, mapping{}, file{})); d != "" || !ok {
		t.Errorf("ok %v (-want +got):\n%s", ok, d)
	}
	for n := range rec {
		if got, ok := parse(rec[:n]); ok && len(got.mapped.file.path) > len(want.mapped.file.path) {
			t.Errorf("%d bytes say %+v", n, got)
		}
	}
}

// TestRegions checks what is left of mappings that others take the place of.
func TestRegions(t *testing.T) {
	m := func(start, end, offset, at uint64) mapping {
		return mapping{start: start, end: end, offset: offset, at: at}
	}
	for _, test := range []struct{ maps, want []mapping }{
		{[]mapping{m(10, 20, 0, 2), m(10, 20, 5, 1)}, []mapping{m(10, 20, 0, 2)}},
		{[]mapping{m(10, 40, 100, 1), m(20, 30, 7, 2)}, []mapping{m(10, 20, 100, 1), m(20, 30, 7, 2), m(30, 40, 120, 1)}},
		{[]mapping{m(30, 40, 0, 1), m(10, 20, 0, 1)}, []mapping{m(10, 20, 0, 1), m(30, 40, 0, 1)}},
		{[]mapping{m(10, 20, 0, 1), m(15, 25, 0, 2)}, []mapping{m(10, 15, 0, 1), m(15, 25, 0, 2)}},
	} {
		if d := cmp.Diff(test.want, regions(test.maps), cmp.AllowUnexported(mapping{}, file{})); d != "" {
			t.Errorf("%v (-want +got):\n%s", test.maps, d)
		}
	}
}

// TestLate checks that what a CPU tells late belongs where it happened.
func TestLate(t *testing.T) {
	l := &life{pid: 1}
	l.add(mapping{start: 1, end: 2, at: 5})
	l.add(mapping{start: 3, end: 4, at: 15})
	l.begin(image{since: 10, whole: true})
	if len(l.images) != 2 || len(l.images[0].maps) != 1 || len(l.images[1].maps) != 1 || l.images[1].maps[0].at != 15 {
		t.Errorf("images %+v, want a mapping in each", l.images)
	}
}
