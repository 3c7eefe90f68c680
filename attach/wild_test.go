package attach_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// largest is a record of the largest size that a provider declares.
type largest struct {
	N    uint64
	Text string
	Fill [notes.MaxBlockSize - 32]byte
	Last uint64
}

// objectOf returns the object of a provider with one record, as a file of dir.
func objectOf(t *testing.T, dir, name string) []byte {
	t.Helper()
	p := provider.New(name, &provider.Options{Site: provider.SiteNop, Backing: provider.BackingFile, Dir: filepath.Join(dir, name)})
	provider.NewStructProbe[struct {
		N    uint64
		Text string
		List [4]uint32
	}](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	files, err := filepath.Glob(filepath.Join(dir, name, "*.so"))
	if err != nil || len(files) != 1 {
		t.Fatalf("objects %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// patched returns a copy of an object in which the 32-bit numbers of a section
// that equal old are replaced.
func patched(t *testing.T, object []byte, section string, old, value uint32) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(section)
	b := slices.Clone(object)
	n := 0
	off := s.Offset
	if section == notes.TypesSectionName {
		off += 32 // its header
	}
	for ; off+4 <= s.Offset+s.Size; off += 4 {
		if binary.LittleEndian.Uint32(b[off:]) == old {
			binary.LittleEndian.PutUint32(b[off:], value)
			n++
		}
	}
	if n == 0 {
		t.Fatalf("%s holds no %d", section, old)
	}
	return b
}

// mapped puts a file into this process's address space.
func mapped(t *testing.T, path string, contents []byte) {
	t.Helper()
	if err := os.WriteFile(path, contents, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, len(contents), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
}

// TestWildSizes attaches to objects whose types give absurd sizes, and checks
// that an intact object beside them is still traced.
func TestWildSizes(t *testing.T) {
	dir := t.TempDir()
	const block = 8 + 16 + 16 // of the record
	wild := objectOf(t, dir, "sizes_wild")
	good := filepath.Join(dir, "good.so")
	mapped(t, good, objectOf(t, dir, "sizes_good"))
	sizes := []uint32{0, block - 1, notes.MaxBlockSize, notes.MaxBlockSize + 1, 16 << 10, 64 << 10, 1<<32 - 1}
	n := 1
	for _, sections := range [][]string{{notes.TypesSectionName}, {".BTF"}, {notes.TypesSectionName, ".BTF"}} {
		for _, size := range sizes {
			object := wild
			for _, section := range sections {
				object = patched(t, object, section, block, size)
			}
			mapped(t, filepath.Join(dir, fmt.Sprintf("wild%s-%d.so", strings.Join(sections, ""), size)), object)
			n++
		}
	}
	check := func(what any, plan attach.Plan) {
		t.Helper()
		if len(plan) != n {
			t.Errorf("%+v: %d sites, want %d", what, len(plan), n)
		}
		for i := range plan {
			if s := &plan[i]; !s.Attached && (s.Probe.Path == good || s.Reason == nil) {
				t.Errorf("%+v: %s is not attached to (%v)", what, s.Probe.Path, s.Reason)
			}
		}
	}
	const selector = "sizes_*:record"
	for kept, o := range map[int]attach.Options{0: {}, 4096: {}, 1024: {Where: `N > 1 && Text ~ "*x*"`}} { // bytes of each text
		o.Target.PIDs = []int{os.Getpid()}
		s := openEvents(t, selector, &attach.EventOptions{MaxString: kept}, &o)
		check(o, s.Plan())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, by := range [][]string{{"Text", "N"}, {"pid"}} {
		a := openAggregate(t, []string{selector}, attach.Count().By(by...), &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
		check(by, a.Plan())
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLargestRecord traces the largest record that a provider accepts, by every
// kind of program that assembles it in memory.
func TestLargestRecord(t *testing.T) {
	p := provider.New("largest", nil)
	defer p.Close()
	rec := provider.NewStructProbe[largest](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	fire := func() { rec.Fire(&largest{N: 7, Text: "some text", Last: 9}) }
	own := []int{os.Getpid()}
	for kept, o := range map[int]attach.Options{0: {}, 8192: {}, 1024: {Where: `N == 7 && Text ~ "*text" && Last == 9`}} { // bytes of each text
		o.Target.PIDs = own
		s := openEvents(t, "largest:record", &attach.EventOptions{MaxString: kept}, &o)
		fire()
		events := drain(t, s)
		if len(events) != 1 || events[0].Args[1].Value != "some text" || events[0].Args[3].Value != uint64(9) {
			t.Errorf("%+v: %d events", o, len(events))
		}
	}
	a := openAggregate(t, []string{"largest:record"}, attach.Sum("Last").By("Text"), &attach.Options{Target: attach.Target{PIDs: own}})
	fire()
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != "some text" {
		t.Errorf("groups %+v, %v", groups, err)
	}
	// One byte more is an error of Load.
	q := provider.New("toolarge", nil)
	defer q.Close()
	provider.NewStructProbe[struct {
		largest
		More byte
	}](q, "record")
	if err := q.Load(); err == nil || !strings.Contains(err.Error(), "tracers read at most") {
		t.Errorf("Load of a larger record: %v", err)
	}
}
