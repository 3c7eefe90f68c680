package kernfunc

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/owned"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// sharedTable returns a table with all that functions may have, of so many lists.
func sharedTable(t *testing.T, lists int) *Table {
	t.Helper()
	table, err := New(strings.NewReader("vfs_read\ninit_once\n__do_sys_getppid\next4_file_write_iter [ext4]\ninit_once [ext4]\n"), strings.NewReader(kallsyms), false)
	if err != nil {
		t.Fatal(err)
	}
	for of := table.Functions; lists > 1; lists-- {
		table.Functions = append(table.Functions, of...)
	}
	return table
}

// open opens a directory of tables anew.
func open(t *testing.T, dir string) *os.File {
	t.Helper()
	d, err := openTables(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestShared keeps a table for other processes, until the state differs. Root alone may write to it, and read it.
func TestShared(t *testing.T) {
	needs.Root(t)
	dir := filepath.Join(t.TempDir(), "usdt", "kernel")
	table := sharedTable(t, 1)
	if restored(open(t, dir), "first") != nil {
		t.Error("a table was restored that nobody has kept")
	}
	table.keep(open(t, dir), "first")
	if got := restored(open(t, dir), "first"); got == nil || listed(got) != listed(table) {
		t.Errorf("got %+v, want %s", got, listed(table))
	}
	if restored(open(t, dir), "second") != nil {
		t.Error("a table was restored for another state")
	}
	table.keep(open(t, dir), "second")
	if names := owned.Names(open(t, dir)); len(names) != 1 || restored(open(t, dir), "first") != nil || restored(open(t, dir), "second") == nil {
		t.Errorf("%q are kept, want the later table alone", names)
	}
	path := filepath.Join(dir, "second")
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, error %v: others may read the kernel's addresses", name, st.Mode(), err)
		}
	}
	for what, damage := range map[string]func() error{
		"others may read it":      func() error { return os.Chmod(path, 0o644) },
		"others may write to it":  func() error { return os.Chmod(path, 0o602) },
		"it is another user's":    func() error { return os.Chown(path, 1, 1) },
		"it has been cut":         func() error { return os.Truncate(path, 100) },
		"it has been overwritten": func() error { return os.WriteFile(path, []byte(strings.Repeat("x", 300)), 0o600) },
		"it is a symbolic link":   func() error { return cmp.Or(os.Rename(path, dir+"/x"), os.Symlink("x", path)) },
		"it is a directory":       func() error { return cmp.Or(os.Remove(path), os.Mkdir(path, 0o700)) },
		"it is a FIFO":            func() error { return cmp.Or(os.Remove(path), unix.Mkfifo(path, 0o600)) },
	} {
		os.RemoveAll(path)
		if table.keep(open(t, dir), "second"); restored(open(t, dir), "second") == nil {
			t.Fatalf("nothing is kept, before %s", what)
		}
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if restored(open(t, dir), "second") != nil {
			t.Errorf("a table was restored though %s", what)
		}
	}
}

// TestSharedDirectory refuses directories that others may change, and links to directories.
func TestSharedDirectory(t *testing.T) {
	needs.Root(t)
	for what, change := range map[string]func(outer, dir string) error{
		"others may write to it":           func(_, dir string) error { return os.Chmod(dir, 0o777) },
		"it is another user's":             func(_, dir string) error { return os.Chown(dir, 1, 1) },
		"it is a symbolic link":            func(outer, dir string) error { return cmp.Or(os.Rename(dir, outer+"/x"), os.Symlink("x", dir)) },
		"others may write to the outer":    func(outer, _ string) error { return os.Chmod(outer, 0o777) },
		"the outer one is another user's":  func(outer, _ string) error { return os.Chown(outer, 1, 1) },
		"the outer one is a symbolic link": func(outer, _ string) error { return cmp.Or(os.Rename(outer, outer+"x"), os.Symlink(outer+"x", outer)) },
	} {
		outer := filepath.Join(t.TempDir(), "usdt")
		dir := filepath.Join(outer, "kernel")
		open(t, dir)
		if err := change(outer, dir); err != nil {
			t.Fatal(err)
		}
		if d, err := openTables(dir); err == nil {
			d.Close()
			t.Errorf("the directory was opened though %s", what)
		}
	}
	if _, err := openTables(filepath.Join(t.TempDir(), "none", "usdt", "kernel")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v without the outer directory's parent", err)
	}
}

// TestSharedAtOnce has several write and read at once: whoever finds a table finds a whole one.
func TestSharedAtOnce(t *testing.T) {
	needs.Root(t)
	dir := filepath.Join(t.TempDir(), "usdt", "kernel")
	table := sharedTable(t, 200)
	want := listed(table)
	open(t, dir)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				d, err := openTables(dir)
				if err != nil {
					t.Error(err)
					return
				}
				table.keep(d, "state")
				if got := restored(d, "state"); got != nil && listed(got) != want {
					t.Error("a table is not whole")
				}
				d.Close()
			}
		})
	}
	all.Wait()
	table.keep(open(t, dir), "state")
	if names := owned.Names(open(t, dir)); len(names) != 1 || restored(open(t, dir), "state") == nil {
		t.Errorf("%q are left, want a table", names)
	}
}

// TestState checks that a state is that of a start of the machine, and of which modules are loaded where.
func TestState(t *testing.T) {
	proc, sys := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	boot, modules, build := filepath.Join(proc, "sys/kernel/random/boot_id"), filepath.Join(proc, "modules"), filepath.Join(sys, "module/ext4/notes/.note.gnu.build-id")
	const ext4 = "ext4 1024 1 - Live 0xffffffffc0000000\n"
	write(boot, "1")
	write(build, "built once")
	write(modules, ext4)
	first, err := state(proc, sys)
	if err != nil {
		t.Fatal(err)
	}
	write(modules, "ext4 1024 2 - Live 0xffffffffc0000000 (E)\n")
	if same, err := state(proc, sys); err != nil || same != first {
		t.Errorf("somebody uses a module: %v", err)
	}
	write(modules, ext4)
	for _, change := range []struct{ path, text string }{
		{boot, "2"},
		{build, "built again"},
		{modules, "ext4 1024 1 - Live 0xffffffffc0008000\n"},
		{modules, "ext4 1024 1 - Loading 0xffffffffc0000000\n"},
		{modules, "ext4 2048 1 - Live 0xffffffffc0000000\n"},
		{modules, ""},
	} {
		was, err := os.ReadFile(change.path)
		if err != nil {
			t.Fatal(err)
		}
		write(change.path, change.text)
		if other, err := state(proc, sys); err != nil || other == first {
			t.Errorf("with %q in %s: the same state, error %v", change.text, change.path, err)
		}
		write(change.path, string(was))
	}
	for _, text := range []string{"loop 1024 1 - Live 0xffffffffc0008000\n", "what\n"} { // without a build ID, and in another format
		write(modules, text)
		if _, err := state(proc, sys); err == nil {
			t.Errorf("nothing is said of modules %q", text)
		}
	}
	os.Remove(modules)
	if _, err := state(proc, sys); err == nil {
		t.Error("nothing is said of modules that cannot be read")
	}
}

// FuzzShared reads what keep has not written.
func FuzzShared(f *testing.F) {
	f.Add(tableHeader + "ffffffff81000100 1 vmlinux vfs_read\nffffffff81000200 2? ext4 init_once other another\n" + tableEnd)
	f.Fuzz(func(t *testing.T, text string) {
		if table := readTable(text); table != nil {
			if again := readTable(string(table.text())); again == nil || listed(again) != listed(table) {
				t.Errorf("%s was kept, and is %s", listed(table), listed(again))
			}
		}
	})
}
