package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// stored loads a provider whose object is a file in dir.
func stored(t *testing.T, dir string) error {
	t.Helper()
	opts := options()
	opts.Backing, opts.Dir = provider.BackingFile, dir
	p := fresh("stored", opts)
	provider.NewProbe1[int](p, "a", "x").Fire(1)
	t.Cleanup(func() { p.Close() })
	return p.Load()
}

// object returns the only visible file of dir.
func object(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "stored-*.so"))
	if err != nil || len(names) != 1 {
		t.Fatalf("directory has objects %v (%v), want one", names, err)
	}
	return names[0]
}

func mappings(t *testing.T, path string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte(path))
}

// executable returns the number of executable mappings of a file. (A failed dlopen
// can leave a read-only one.)
func executable(t *testing.T, path string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, path) && strings.Contains(line, " r-xp ") {
			n++
		}
	}
	return n
}

func TestStoredObjectIsShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	for n := 1; n <= 3; n++ {
		if err := stored(t, dir); err != nil {
			t.Fatal(err)
		}
		want := 3 * n
		if *loader == "dlopen" {
			want = 3 // the dynamic linker knows an object by its inode
		}
		if got := mappings(t, object(t, dir)); got != want {
			t.Errorf("%d providers with the same probes map the file %d times, want %d", n, got, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v (%v), want the object alone", entries, err)
	}
}

// TestHostileDirectory checks that Load maps nothing but the object, and nothing that
// another user could have written.
func TestHostileDirectory(t *testing.T) {
	mount := func(t *testing.T, dir string, flags uintptr, data string) {
		needs.Root(t) // to change owners and mount
		if err := unix.Mount("usdt-test", dir, "tmpfs", flags, "mode=0755"+data); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	}
	// plant replaces the object's file, which is mapped by now, by a copy and changes
	// the copy.
	plant := func(t *testing.T, dir string, change func(path string)) {
		if err := stored(t, dir); err != nil {
			t.Fatal(err)
		}
		path := object(t, dir)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		change(path)
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, dir string) string // returns the directory to use
		want    string
	}{
		{"wrong owner", func(t *testing.T, dir string) string {
			needs.Root(t) // to change owners and mount
			must(t, os.Chown(dir, 65534, 65534))
			return dir
		}, "belongs to user 65534"},
		{"world-writable", func(t *testing.T, dir string) string {
			must(t, os.Chmod(dir, 0o777))
			return dir
		}, "can be written to by others (mode 0777)"},
		{"group-writable", func(t *testing.T, dir string) string {
			must(t, os.Chmod(dir, 0o770))
			return dir
		}, "can be written to by others (mode 0770)"},
		{"symbolic link", func(t *testing.T, dir string) string {
			link := filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(dir, link))
			return link
		}, "a symbolic link is not followed"},
		{"a file", func(t *testing.T, dir string) string {
			f := filepath.Join(dir, "f")
			must(t, os.WriteFile(f, nil, 0o644))
			return f
		}, "not a directory"},
		{"no parent", func(t *testing.T, dir string) string {
			return filepath.Join(dir, "none", "at", "all")
		}, "no such file or directory"},
		{"read-only", func(t *testing.T, dir string) string {
			mount(t, dir, unix.MS_RDONLY, "")
			return dir
		}, "read-only file system"},
		{"full", func(t *testing.T, dir string) string {
			mount(t, dir, 0, ",size=4k")
			return dir
		}, "no space left on device"},
		{"noexec", func(t *testing.T, dir string) string {
			mount(t, dir, unix.MS_NOEXEC, "")
			return dir
		}, "mounted noexec, choose another directory"},
		{"other bytes", func(t *testing.T, dir string) string {
			plant(t, dir, func(path string) {
				b, err := os.ReadFile(path)
				must(t, err)
				b[len(b)/2] ^= 1
				must(t, os.WriteFile(path, b, 0o644))
			})
			return dir
		}, "does not hold this provider's object"},
		{"shorter", func(t *testing.T, dir string) string {
			plant(t, dir, func(path string) { must(t, os.Truncate(path, 100)) })
			return dir
		}, "does not hold this provider's object"},
		{"writable object", func(t *testing.T, dir string) string {
			plant(t, dir, func(path string) { must(t, os.Chmod(path, 0o666)) })
			return dir
		}, "can be written to by others (mode 0666)"},
		{"FIFO", func(t *testing.T, dir string) string {
			plant(t, dir, func(path string) {
				must(t, os.Remove(path))
				must(t, unix.Mkfifo(path, 0o644))
			})
			return dir
		}, "is not a regular file"},
		{"linked object", func(t *testing.T, dir string) string {
			plant(t, dir, func(path string) {
				must(t, os.Rename(path, path+".moved"))
				must(t, os.Symlink(path+".moved", path))
			})
			return dir
		}, "too many levels of symbolic links"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "objects")
			must(t, os.Mkdir(dir, 0o755))
			dir = tt.prepare(t, dir)
			before := executable(t, "stored-")
			err := stored(t, dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if n := executable(t, "stored-"); n != before {
				t.Errorf("%d executable mappings of an object were left", n-before)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.so.*")); len(left) > 0 {
				t.Errorf("temporary files were left: %v", left)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "objects")
	load := func() error {
		p := newProvider("stored")
		provider.NewProbe0(p, "a")
		t.Cleanup(func() { p.Close() })
		return p.Load()
	}
	t.Setenv("USDT_DIR", dir)
	t.Setenv("USDT_BACKING", "file")
	if err := load(); err != nil {
		t.Fatal(err)
	}
	object(t, dir)

	t.Setenv("USDT_BACKING", "tape")
	if err := load(); err == nil || !strings.Contains(err.Error(), `USDT_BACKING is "tape", want memfd or file`) {
		t.Errorf("got %v, want an error that says what USDT_BACKING may be", err)
	}

	t.Setenv("USDT_BACKING", "file")
	t.Setenv("USDT_RECORDER", t.TempDir()+",1MB")
	if err := load(); err == nil || !strings.Contains(err.Error(), `USDT_RECORDER has the size "1MB", want bytes, or a number with K, M or G`) {
		t.Errorf("got %v, want an error that says what a size may be", err)
	}
	t.Setenv("USDT_RECORDER", "")

	t.Setenv("USDT_DISABLE", "1")
	before := mappings(t, "usdt:") + mappings(t, "stored-")
	if err := load(); err != nil {
		t.Errorf("disabled: %v", err)
	}
	if n := mappings(t, "usdt:") + mappings(t, "stored-"); n != before {
		t.Errorf("disabled, but %d mappings were made", n-before)
	}

	t.Setenv("USDT_DISABLE", "")
	t.Setenv("USDT_BACKING", "file")
	t.Setenv("USDT_DIR", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if err := load(); err != nil {
		t.Fatal(err)
	}
	object(t, filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "usdt"))
}

func TestEventsDir(t *testing.T) {
	dir := t.TempDir()
	// Files of a dead process, and files that are none of ours.
	dead := filepath.Join(dir, "4194304", "old", "probe")
	if err := os.MkdirAll(dead, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	opts := options()
	opts.EventsDir = dir
	p := fresh("shown", opts)
	provider.NewProbe4[uint64, string, int8, []byte](p, "a", "id", "path", "delta", "body")
	provider.NewProbe0(p, "b")
	load(t, p)
	own := filepath.Join(dir, fmt.Sprint(os.Getpid()))
	got, err := os.ReadFile(filepath.Join(own, "shown", "a", "format"))
	if err != nil {
		t.Fatal(err)
	}
	want := `name: a
format:
	field:unsigned long long id;	offset:0;	size:8;	signed:0;
	field:const char *path;	offset:8;	size:8;	signed:0;
	field:signed char delta;	offset:16;	size:1;	signed:1;
	field:const unsigned char *body;	offset:24;	size:8;	signed:0;
	field:unsigned long long __body_len;	offset:32;	size:8;	signed:0;
	field:unsigned long long __path_len;	offset:40;	size:8;	signed:0;
`
	if string(got) != want {
		t.Errorf("format:\n%s\nwant:\n%s", got, want)
	}
	address, err := os.ReadFile(filepath.Join(own, "shown", "b", "address"))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	var site, lo, hi uint64
	if _, err := fmt.Sscanf(string(address), "%v", &site); err != nil {
		t.Fatalf("address %q: %v", address, err)
	}
	found := false
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "usdt:shown") && strings.Contains(line, "r-xp") {
			fmt.Sscanf(line, "%x-%x", &lo, &hi)
			found = found || lo <= site && site < hi
		}
	}
	if !found {
		t.Errorf("address %#x is in no executable mapping of the object:\n%s", site, maps)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(dead))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead process's directory is still there: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "README" {
		t.Errorf("after Close: %v (%v), want README alone", entries, err)
	}

	// A directory that cannot be written to prevents its entries, not the probes.
	q := fresh("shown", &provider.Options{EventsDir: filepath.Join(dir, "README")})
	probe := provider.NewProbe0(q, "a")
	if err := q.Load(); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v, want an error about the directory", err)
	}
	t.Cleanup(func() { q.Close() })
	provider.Watch(q, 1)
	if !probe.Enabled() {
		t.Error("the probe is not loaded")
	}
}
