package discover

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/selector"
)

// TestUnreadable checks that the error for a process that protects its memory
// from root does not name a capability that is not missing.
func TestUnreadable(t *testing.T) {
	err := unreadable(7, os.ErrPermission)
	lacks := strings.Contains(err.Error(), "lacks CAP_SYS_PTRACE")
	if has := privilege.Has(unix.CAP_SYS_PTRACE); lacks == has {
		t.Errorf("this process has the capability: %t; got %q", has, err)
	}
}

// TestFirstProcess leaves out that process 1 cannot be read where it has no part in the answer.
func TestFirstProcess(t *testing.T) {
	of := func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: os.ErrPermission} }
	for _, c := range []struct {
		selector string
		others   int
		troubles []error
		said     bool
	}{
		{"p:n", 0, []error{of("/proc/1/maps")}, true},
		{"p:n", 3, []error{of("/proc/1/maps")}, false},
		{"/no/such/file:p:n", 0, []error{of("/proc/1/maps")}, false},
		{"/no/such/file:p:n", 0, []error{of("/proc/12/maps")}, true},
		{"p:n", 3, []error{of("/proc/1/maps"), of("/proc/12/maps")}, true},
	} {
		sel, err := selector.Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		d := &Search{procs: &process.Set{}, selectors: []selector.Selector{sel}, matched: []bool{false}, near: []near{{others: c.others}}, troubles: c.troubles}
		if text := d.NoMatch()[0].Error(); strings.Contains(text, "could not be read") != c.said {
			t.Errorf("%+v: %s", c, text)
		}
	}
}
