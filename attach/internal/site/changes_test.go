package site

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/internal/procfs"
)

// TestChanges checks that sites are delivered as they are attached to, refused and left, each
// once, by an iteration that waits for them, until nothing is attached any more.
func TestChanges(t *testing.T) {
	plan := func(name string, file uint64, reason error) Plan {
		return Plan{{Report: Report{Path: name, Attached: reason == nil, Reason: reason}, file: procfs.ID{Inode: file}}}
	}
	a := Unattached(plan("first", 1, nil))
	next, stop := iter.Pull2(func(yield func(Report, bool) bool) { a.Changes(t.Context(), yield) })
	defer stop()
	expect := func(name string, left bool, reason error) {
		t.Helper()
		r, gone, ok := next()
		if !ok || r.Path != name || gone != left || r.Reason != reason {
			t.Fatalf("got site %s, left %v, reason %v, %v; want %s, %v, %v", r.Path, gone, r.Reason, ok, name, left, reason)
		}
	}
	leave := func(file uint64) {
		done := make(chan error)
		a.Leave([]discover.Owner{{File: procfs.ID{Inode: file}}}, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	expect("first", false, nil)
	go a.Adopt(Unattached(plan("second", 2, nil))) // while next waits
	expect("second", false, nil)
	a.Adopt(Unattached(plan("third", 3, errors.ErrUnsupported)))
	leave(1)
	expect("third", false, errors.ErrUnsupported)
	expect("first", true, nil)
	leave(2)
	expect("second", true, nil)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	a.Changes(done, func(Report, bool) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d sites for a context that is done, want the one of now", n)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if r, left, ok := next(); ok {
		t.Errorf("site %s, left %v, after the end", r.Path, left)
	}
}
