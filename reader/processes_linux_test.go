package reader_test

import (
	"errors"
	"os"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

func TestProcesses(t *testing.T) {
	o := &object{notes: one}
	f := file(t, o)
	mapped(t, int(f.Fd()), o)
	found := false
	for p, err := range reader.Processes() {
		if err != nil {
			if !errors.Is(err, os.ErrPermission) {
				t.Error(err)
			}
			continue
		}
		if p.PID() != os.Getpid() {
			continue
		}
		for probe, err := range p.Probes() {
			if err != nil {
				t.Error(err)
			}
			found = found || probe.Path == f.Name()
		}
	}
	if !found {
		t.Errorf("this process's %s is not among all processes' objects", f.Name())
	}
}

// TestProcessesClosed checks that the files which the functions of a process are read
// from do not stay open behind Processes, which closes what it returns.
func TestProcessesClosed(t *testing.T) {
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before, functions := 0, 0
	for p, err := range reader.Processes() {
		if functions > 0 {
			break
		}
		if err != nil || p.PID() != os.Getpid() {
			continue
		}
		before = descriptors()
		for _, err := range p.Functions(func(string) bool { return true }) {
			if err == nil {
				functions++
			}
		}
	}
	if after := descriptors(); functions == 0 || after != before {
		t.Errorf("%d descriptors after reading %d functions, want %d", after, functions, before)
	}
}
