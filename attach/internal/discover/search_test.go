package discover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/systest/probed"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// object has two probes and two functions.
var object = probed.Object{Sites: []probed.Site{
	{Provider: "shop", Name: "sold", Args: "8@%rdi"}, {Provider: "shop", Name: "returned", Semaphore: true}, {Name: "shop_open"}, {Name: "shop_close"},
}}

// mapped is a file that this process has mapped as programs map libraries.
type mapped struct {
	path string
	mem  []byte
}

func mapFile(t *testing.T, path string) *mapped {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m := &mapped{path: path}
	if m.mem, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.unmap)
	return m
}

func (m *mapped) unmap() {
	if m.mem != nil {
		unix.Munmap(m.mem)
	}
	m.mem = nil
}

// holdSelf returns the set of this process.
func holdSelf(t *testing.T) *process.Set {
	t.Helper()
	procs, err := process.Hold([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(procs.Close)
	return procs
}

// names returns the names of sites, with the kinds of functions.
func names(found Sites) (all []string) {
	for s := range found.All() {
		name := s.Probe.Provider + ":" + s.Probe.Name
		if s.Probe.Kind != reader.USDT {
			name = s.Probe.Kind.String() + ":" + s.Probe.Name
		}
		all = append(all, name)
	}
	return all
}

// TestNamedFiles searches files by selectors that name them.
func TestNamedFiles(t *testing.T) {
	path := object.Write(t, "shop.so")
	dir := filepath.Dir(path)
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sold reader.Probe
	for p := range f.Probes() {
		if p.Name == "sold" {
			sold = p
		}
	}
	for _, test := range []struct {
		selectors string // separated by spaces; PATH and DIR are replaced
		want      string // names
		err       string // part of the error
		is        error
	}{
		{"PATH:shop:*", "shop:sold shop:returned", "", nil},
		{"PATH:shop:sold PATH:*:sold", "shop:sold", "", nil},
		{"DIR/*.so:shop:sold", "shop:sold", "", nil},
		{"uprobe:PATH:shop_open", "uprobe:shop_open", "", nil},
		{"uprobe:PATH:shop_*", "uprobe:shop_open uprobe:shop_close", "", nil},
		{"uretprobe:PATH:shop_open uprobe:PATH:shop_open PATH:shop:sold", "uprobe:shop_open uretprobe:shop_open shop:sold", "", nil},
		{"uprobe:PATH:shop_open+1", "uprobe:shop_open+0x1", "", nil},
		{fmt.Sprintf("uprobe:PATH:%#x", sold.Location), fmt.Sprintf("uprobe:%#x", sold.Location), "", nil},
		{"PATH:shop:solde", "", "but " + path + ":shop:sold would", ErrNoMatch},
		{"PATH:shop:bought", "", "where shop has 2 other probes", ErrNoMatch},
		{"PATH:bank:*", "", "no probe matches", ErrNoMatch},
		{"uprobe:PATH:shop_opens", "", "but uprobe:" + path + ":shop_open would", ErrNoMatch},
		{"uprobe:PATH:work", "", "which is stripped: it has no symbols but of 2 functions", ErrNoMatch},
		{"uprobe:nobody_has_this.so.7:work", "", "nothing of that name is installed", ErrNoMatch},
		{"uprobe:libc:malloc", "", "nothing of that name is installed; the nearest is libc.so.6 (/", ErrNoMatch},
		{"PATH:shop.c:12", "", "but uprobe:" + path + ":shop.c:12 would", ErrNoMatch},
		{"uprobe:shop.c:12-14", "", "but uprobe:PATH:shop.c:12-14, with the PATH of the program or library, would", ErrNoMatch},
		{"PATH:work", "", "; a function of that program is uprobe:" + path + ":work", ErrNoMatch},
		{"uporbe:PATH:work", "", "; functions are uprobe:PATH:FUNC", ErrNoMatch},
		{"DIR/gone.so:shop:*", "", "no such file", os.ErrNotExist},
		{"DIR/notes.txt:shop:*", "", "", reader.ErrNotELF},
		{"DIR/*.txt:shop:*", "", "no probe matches", ErrNoMatch},
		{"/proc/self/exe:none:none", "", "a Go program declares its probes at run time", ErrNoMatch},
	} {
		var all []string
		for _, s := range strings.Fields(test.selectors) {
			all = append(all, strings.NewReplacer("PATH", path, "DIR", dir).Replace(s))
		}
		d := New(parsed(t, all...), &process.Set{})
		found, err := d.First(t.Context())
		if test.is == nil && err != nil || test.is != nil && (!errors.Is(err, test.is) || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: error %v, want %v with %q", test.selectors, err, test.is, test.err)
		}
		if got := strings.Join(names(found), " "); test.is == nil && got != test.want {
			t.Errorf("%s: got %s, want %s", test.selectors, got, test.want)
		}
		if again, err := d.More(t.Context()); d.again && (err != nil || again.Len() != 0) {
			t.Errorf("%s: the second look finds %s, %v", test.selectors, names(again), err)
		}
		for s := range found.All() {
			if i := slices.IndexFunc(d.selectors, func(sel selector.Selector) bool { return Selects(&sel, &s.Probe) }); i < 0 {
				t.Errorf("%s: no selector selects %s", test.selectors, s.Probe.Name)
			}
		}
	}
}

// TestNamesOf names the probes of recordings: all, one provider's, or providers.
func TestNamesOf(t *testing.T) {
	var probes []reader.Probe
	for _, name := range strings.Fields("a:1 a:2 b:3 b:4 b:4 b:5 b:6") {
		provider, name, _ := strings.Cut(name, ":")
		probes = append(probes, reader.Probe{Note: notes.Note{Provider: provider, Name: name}})
	}
	more := append(probes, reader.Probe{Note: notes.Note{Provider: "c", Name: "7"}})
	for _, test := range []struct {
		probes         []reader.Probe
		provider, want string
	}{
		{nil, "a", "no probe"},
		{probes, "a", "a:1, a:2, b:3, b:4, b:5, b:6"},
		{more, "b", "b:3, b:4, b:5, b:6"},
		{more, "x", "a:*, b:*, c:*"},
	} {
		if got := namesOf(test.probes, test.provider); got != test.want {
			t.Errorf("of %d probes, for %s: %q, want %q", len(test.probes), test.provider, got, test.want)
		}
	}
}

// TestAwaitedFile searches for a file that is written later.
func TestAwaitedFile(t *testing.T) {
	written := object.Write(t, "shop.so")
	path := filepath.Join(t.TempDir(), "later.so")
	d := New(parsed(t, path+":shop:sold"), &process.Set{})
	d.Await = true
	if found, err := d.More(t.Context()); err != nil || found.Len() != 0 {
		t.Fatalf("got %s, %v", names(found), err)
	}
	if err := os.Rename(written, path); err != nil {
		t.Fatal(err)
	}
	if found, err := d.More(t.Context()); err != nil || found.Len() != 1 {
		t.Errorf("when it is written: got %s, %v", names(found), err)
	}
}

// TestProcess searches this process for a file that it maps, unmaps, deletes and maps again.
func TestProcess(t *testing.T) {
	path := object.Write(t, "shop.so")
	d := New(parsed(t, path+":shop:*", "uprobe:"+path+":shop_open"), holdSelf(t))
	var none error
	if _, none = d.More(t.Context()); none != nil {
		t.Fatal(none)
	}
	look := func(when string, want ...string) Sites {
		t.Helper()
		found, err := d.More(t.Context())
		got := names(found)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", when, got, err, want)
		}
		return found
	}
	m := mapFile(t, path)
	all := []string{"shop:returned", "shop:sold", "uprobe:shop_open"}
	found := look("mapped", all...)
	var owner Owner
	for s := range found.All() {
		owner = Owner{s.File, s.PID}
		if s.PID != os.Getpid() || s.Probe.Live == nil && s.Probe.Kind == reader.USDT {
			t.Errorf("%s is in process %d", s.Probe.Name, s.PID)
		}
	}
	look("mapped still")
	d.Forget(os.Getpid())
	look("forgotten", all...)
	d.Leave(owner)
	look("left", all...)

	m.unmap()
	look("unmapped")
	look("unmapped, with a name")
	if len(d.Ended) != 0 {
		t.Errorf("a file with a name has ended: %v", d.Ended)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look("deleted")
	if len(d.Ended) != 1 || d.Ended[0] != owner {
		t.Errorf("deleted: ended are %v, want %v", d.Ended, owner)
	}
}

// TestAwaitedProcess finds the sites of a file before the process maps it.
func TestAwaitedProcess(t *testing.T) {
	path := object.Write(t, "shop.so")
	d := New(parsed(t, path+":shop:*", "uretprobe:"+path+":shop_open"), holdSelf(t))
	d.Await = true
	found, err := d.First(t.Context())
	if got := names(found); err != nil || len(got) != 3 {
		t.Errorf("got %q, %v, want three sites", got, err)
	}
	mapFile(t, path)
	if found, err := d.More(t.Context()); err != nil || found.Len() != 0 {
		t.Errorf("mapped: got %q again, %v", names(found), err)
	}
}

// TestEnded checks searches in a process that has ended, and in none that matches.
func TestEnded(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	procs, err := process.Hold([]int{cmd.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	defer procs.Close()
	d := New(parsed(t, "no_such_provider:*"), procs)
	if _, err := d.First(t.Context()); !errors.Is(err, ErrNoMatch) || !strings.Contains(err.Error(), fmt.Sprintf("in process %d", cmd.Process.Pid)) {
		t.Errorf("no probe: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := d.More(t.Context()); err != nil {
		t.Errorf("a later look: %v", err)
	}
	d = New(parsed(t, "no_such_provider:*"), procs)
	if _, err := d.First(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ended: %v, want os.ErrNotExist", err)
	}
	d = New(parsed(t, "no_such_provider:*"), procs)
	d.Passing = true
	if _, err := d.More(t.Context()); err != nil {
		t.Errorf("ended, passing: %v", err)
	}
}

// TestLater looks for a probe that is not there: a process is given time to load it, unless later
// looks await it.
func TestLater(t *testing.T) {
	procs := holdSelf(t)
	for _, later := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := New(parsed(t, "no_such_provider:*"), procs)
			d.Later = later
			began := time.Now()
			if _, err := d.First(t.Context()); !errors.Is(err, ErrNoMatch) {
				t.Errorf("later %v: %v, want ErrNoMatch", later, err)
			}
			if waited := time.Since(began); (waited > 0) == later {
				t.Errorf("later %v: First has waited %v", later, waited)
			}
		})
	}
}

// TestMachine searches all processes for a file that this one maps and deletes.
func TestMachine(t *testing.T) {
	path := object.Write(t, "shop.so")
	m := mapFile(t, path)
	d := New(parsed(t, filepath.Dir(path)+"/*:shop:sold"), &process.Set{})
	found, err := d.First(t.Context())
	if err != nil || found.Len() != 1 {
		t.Fatalf("got %q, %v", names(found), err)
	}
	m.unmap()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.hidden = nil // processes of others may have the file
	d.scan += unmappedScans
	d.forgetUnmapped()
	for s := range found.All() {
		if want := (Owner{File: s.File}); len(d.Ended) != 1 || d.Ended[0] != want {
			t.Errorf("ended are %v, want %v", d.Ended, want)
		}
	}
}

// TestOf searches files that processes have mapped that have ended since, and programs that will start.
func TestOf(t *testing.T) {
	path := object.Write(t, "shop.so")
	d := New(parsed(t, filepath.Dir(path)+"/*:shop:sold"), &process.Set{})
	found, err := d.of(t.Context(), []maplog.Mapper{{PID: 1 << 30, Paths: []string{"/bin/sh", path}}})
	if err != nil || found.Len() != 1 {
		t.Errorf("got %q, %v", names(found), err)
	}
	d.Exe = path
	if got := d.starting(); len(got) == 0 || filepath.Base(got[0]) != "shop.so" {
		t.Errorf("the program's files are %q", got)
	}
	d.Exe, d.Comm = "", "no_such_program_7"
	if got := d.starting(); len(got) != 0 {
		t.Errorf("the files of no program are %q", got)
	}
}

// TestAmong selects among probes that are there already.
func TestAmong(t *testing.T) {
	f, err := reader.Open(object.Write(t, "shop.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []reader.Probe
	for p := range f.Probes() {
		all = append(all, p)
	}
	for fn := range f.Functions() {
		p := fn.Entry()
		p.Name = fn.Symbols[0]
		all = append(all, p)
	}
	for _, test := range []struct {
		selector string
		want     []int
	}{{"shop:returned", []int{1}}, {"*:*", []int{0, 1, 2, 3}}, {"uprobe:*:shop_close", []int{3}}, {"bank:*", nil}} {
		_, found, which, err := Among(parsed(t, test.selector), all, "in the file")
		if !slices.Equal(which, test.want) || found.Len() != len(test.want) || (err != nil) != (test.want == nil) {
			t.Errorf("%s: got %v, %d sites, %v, want %v", test.selector, which, found.Len(), err, test.want)
		}
		if err != nil && !strings.Contains(err.Error(), "in the file") {
			t.Errorf("%s: %v does not say where", test.selector, err)
		}
	}
}

// TestInterruptedSearch checks that a search ends with the cause of its context.
func TestInterruptedSearch(t *testing.T) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	path := object.Write(t, "shop.so")
	for _, procs := range []*process.Set{{}, holdSelf(t)} {
		d := New(parsed(t, path+":shop:*", "uprobe:/*:*"), procs)
		if found, err := d.First(ctx); err != cause || found.Len() != 0 {
			t.Errorf("%d processes: got %q, %v", len(procs.PIDs), names(found), err)
		}
	}
}
