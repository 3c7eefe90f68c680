package collection_test

import (
	"bytes"
	"context"
	"errors"
	"os"
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

// TestNoContext checks that Load refuses a nil context.
func TestNoContext(t *testing.T) {
	var none context.Context
	if _, err := collection.Load(none, bytes.NewReader(nil), nil); err == nil || !strings.Contains(err.Error(), "context is nil") {
		t.Errorf("error %v, want one that says that the context is nil", err)
	}
}
