package symbols_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/symbols"
)

// TestEnded names code of a process that has ended: by build-ids and offsets, and by
// the modules that were recorded, by the resolver that saw it and by another.
func TestEnded(t *testing.T) {
	path := needs.Compile(t, "testdata/deep.c", "gcc", "-O2", "-g")
	cmd := exec.Command(path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 10))
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	modules := s.Modules()
	cmd.Process.Kill()
	cmd.Wait()

	i := slices.IndexFunc(modules, func(m symbols.Module) bool { return m.Path == path })
	if i < 0 || modules[i].BuildID == "" {
		t.Fatalf("got %+v, want %s with a build-id", modules, path)
	}
	m := modules[i]
	offset := tracee.Symbol(t, path, "recurse") // in such programs, offsets of code are addresses
	addr := m.Start + offset - m.Offset
	check := func(how string, frames []symbols.Frame) {
		t.Helper()
		if len(frames) != 1 || frames[0].Func != "recurse" || !strings.HasSuffix(frames[0].File, "deep.c") || frames[0].BuildID != m.BuildID || frames[0].Offset != offset || frames[0].Module != path {
			t.Errorf("%s: got %+v, want recurse", how, frames)
		}
	}
	check("the space", s.AppendFrames(nil, addr))
	check("the build-id", r.AppendFrames(nil, m.BuildID, offset))
	other := symbols.NewResolver(nil)
	defer other.Close()
	check("another resolver", other.Recorded(modules).AppendFrames(nil, addr))
	check("another resolver's build-id", other.AppendFrames(nil, m.BuildID, offset))

	third := symbols.NewResolver(nil)
	defer third.Close()
	if f := third.AppendFrames(nil, m.BuildID, offset); len(f) != 1 || f[0].Func != "" || f[0].String() != fmt.Sprintf("[unknown] (%#x)", 0) {
		t.Errorf("a resolver that never saw the file: got %v, want no name", f)
	}
	if id, err := third.Add(path); err != nil || id != m.BuildID {
		t.Errorf("Add: got %s, %v, want %s", id, err, m.BuildID)
	}
	check("a resolver that was given the file", third.AppendFrames(nil, m.BuildID, offset))

	// A file that has taken the place of the recorded one has another build-id.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	again := needs.Compile(t, "testdata/deep.c", "gcc", "-O1", "-g")
	if err := os.Rename(again, path); err != nil {
		t.Fatal(err)
	}
	fourth := symbols.NewResolver(nil)
	defer fourth.Close()
	if f := fourth.Recorded(modules).AppendFrames(nil, addr); len(f) != 1 || f[0].Func != "" || f[0].BuildID != m.BuildID {
		t.Errorf("a file that was replaced: got %v, want no name", f)
	}
}

// TestClaims checks that a file that anybody could have written, and that has another
// one's build-id, does not name that one's code.
func TestClaims(t *testing.T) {
	needs.Tools(t, "objcopy")
	path := needs.Compile(t, "testdata/deep.c", "gcc", "-O2")
	addr := tracee.Symbol(t, path, "recurse")
	other := path + ".other"
	needs.Run(t, "objcopy", "--redefine-sym", "recurse=forged", path, other)
	if err := os.Chmod(other, 0o777); err != nil {
		t.Fatal(err)
	}
	r := symbols.NewResolver(nil)
	defer r.Close()
	id, err := r.Add(path)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Recorded([]symbols.Module{
		{Path: other, BuildID: id, Start: 0x10000, End: 0x20000},
		{Path: path, BuildID: id, Start: 0x20000, End: 0x30000},
	})
	for _, c := range []struct {
		addr uint64
		want string
	}{{0x10000 + addr, "forged"}, {0x20000 + addr, "recurse"}, {0x10000 + addr, "forged"}} {
		if f := s.AppendFrames(nil, c.addr); f[0].Func != c.want {
			t.Errorf("%#x: got %+v, want %s", c.addr, f, c.want)
		}
	}
	if f := r.AppendFrames(nil, id, addr); f[0].Func != "recurse" {
		t.Errorf("by build-id: got %+v, want recurse", f)
	}
}

// TestOwn names the addresses of this process: of its code, of the kernel's, and of
// memory that is none.
func TestOwn(t *testing.T) {
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	pc, _, line, _ := runtime.Caller(0)
	f := s.AppendFrames(nil, uint64(pc))
	if len(f) != 1 || !strings.HasSuffix(f[0].Func, "symbols_test.TestOwn") || !strings.HasSuffix(f[0].File, "/space_linux_test.go") || f[0].Line != line || f[0].Address != uint64(pc) {
		t.Errorf("got %+v, want line %d of this function", f, line)
	}
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range maps {
		if m.Path == "[vdso]" {
			for off := uint64(0); off < m.Size(); off += 16 {
				f := s.AppendFrames(nil, m.Start+off)
				seen[strings.TrimPrefix(strings.TrimPrefix(f[0].Func, "__vdso_"), "__kernel_")] = true
				if f[0].Module != "[vdso]" || f[0].Offset != off {
					t.Errorf("got %+v in the vDSO", f)
				}
			}
		}
	}
	if !seen["clock_gettime"] {
		t.Errorf("got %v in the vDSO, want its functions", seen)
	}
	if f := s.AppendFrames(nil, 8); len(f) != 1 || f[0].String() != "[unknown] (0x8)" {
		t.Errorf("got %+v at 8, want nothing", f)
	}
	// Code that is mapped later is also found.
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(mem)
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Process(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that does not exist: got %v", err)
	}
}

// TestBound names code of many files with little memory and from many goroutines, and
// checks that no more is kept than was allowed, and that descriptors are closed.
func TestBound(t *testing.T) {
	paths, _ := filepath.Glob("/usr/lib/*-linux-gnu/lib[a-d]*.so.*")
	if len(paths) < 10 {
		needs.Skip(t, "needs some libraries, found %d", len(paths))
	}
	paths = paths[:min(len(paths), 60)]
	const memory = 2 << 20
	r := symbols.NewResolver(&symbols.Options{Memory: memory})
	before := leftover.Descriptors(t)
	var wg sync.WaitGroup
	var named sync.Map
	for g := range 4 {
		wg.Go(func() {
			for i := range 3 * len(paths) {
				path := paths[(i*7+g)%len(paths)]
				for addr := uint64(0x1000); addr < 0x20000; addr += 0x801 {
					frames, err := r.AppendFile(nil, path, addr)
					if err != nil {
						continue // a linker script
					}
					if old, ok := named.LoadOrStore(fmt.Sprint(path, addr), fmt.Sprint(frames)); ok && old != fmt.Sprint(frames) {
						t.Errorf("%s %#x: got %v and then %v", path, addr, old, frames)
					}
				}
				if used, _ := r.Used(); used > memory {
					t.Errorf("%d bytes are kept, want at most %d", used, memory)
				}
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if used, files := r.Used(); used != 0 || files != 0 {
		t.Errorf("after Close, %d bytes and %d files are kept", used, files)
	}
	leftover.Back(t, before)
}
