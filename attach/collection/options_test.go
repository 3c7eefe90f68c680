package collection_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
)

// TestRefusedOptions checks that values which would have no effect are refused,
// by the name of their option.
func TestRefusedOptions(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	object, err := os.ReadFile(newestObject)
	if err != nil {
		t.Fatal(err)
	}
	load := func(o collection.Options) error {
		_, err := collection.Load(t.Context(), bytes.NewReader(object), &o)
		return err
	}
	spec := bpf.ReadSpec(t, newestObject)
	c := newCollection(t, spec, nil)
	more := func(o collection.Options) error {
		_, err := c.AttachProgram(t.Context(), "any", path+":args:bare", &o)
		return err
	}
	for _, test := range []struct {
		option string
		err    error
	}{
		{"Comm", load(collection.Options{Target: attach.Target{Comm: "init"}})},
		{"Children", load(collection.Options{Target: attach.Target{PIDs: []int{os.Getpid()}, Children: true}})},
		{"Recordings", load(collection.Options{Target: attach.Target{Recordings: []string{"x"}}})},
		{"PIDs", load(collection.Options{Target: attach.Target{PIDs: []int{-1}}})},
		{"Link", load(collection.Options{Link: 99})},
		{"Link", load(collection.Options{Link: -1})},
		{"Link", more(collection.Options{Link: 99})},
		{"Rescan", load(collection.Options{Rescan: -1})},
		{"Rescan", load(collection.Options{Await: true})},
		{"Exe", more(collection.Options{Target: attach.Target{Exe: "/bin/sh"}})},
		{"PrivateStack", more(collection.Options{PrivateStack: true})},
		{"Collection", more(collection.Options{Collection: ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{LogLevel: 1}}})},
	} {
		var option *attach.OptionError
		if !errors.As(test.err, &option) || option.Option != test.option {
			t.Errorf("got error %v, want one in option %s", test.err, test.option)
		}
	}
}

// TestEnded checks that a process which has ended is an error of whatever names it.
func TestEnded(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	opts := &collection.Options{Target: attach.Target{PIDs: []int{ended.Process.Pid}}}
	spec := bpf.ReadSpec(t, newestObject)
	_, made := collection.New(t.Context(), spec, opts)
	_, attached := newCollection(t, spec, nil).AttachProgram(t.Context(), "any", "args:bare", opts)
	for name, err := range map[string]error{"New": made, "AttachProgram": attached} {
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s: error %v, want one that says that the process does not exist", name, err)
		}
	}
}

// TestNoContext checks that Load refuses a nil context.
func TestNoContext(t *testing.T) {
	var none context.Context
	if _, err := collection.Load(none, bytes.NewReader(nil), nil); err == nil || !strings.Contains(err.Error(), "context is nil") {
		t.Errorf("error %v, want one that says that the context is nil", err)
	}
}
