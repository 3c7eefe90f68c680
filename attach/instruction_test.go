package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// TestInstructions attaches within a function of known code, by its name and by
// address, with symbols and without, in a file and in a process.
func TestInstructions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := build(t, "instructions.c", "gcc", "-O1")
	stripped := build(t, "instructions.c", "gcc", "-O1", "-s")
	at := tracee.Symbol(t, path, "three")
	for _, test := range []struct {
		name, path, site string
		file             bool   // in all processes
		event            string // its name
		reason           string // in place of events
	}{
		{name: "entry", site: "three+0", event: "three"},
		{name: "offset", site: "three+0x5", event: "three+0x5"},
		{name: "decimal", site: "thr*+10", event: "three+0xa"},
		{name: "behind endbr64", site: "three+14", event: "three+0xe"},
		{name: "address", site: fmt.Sprintf("%#x", at+5), event: "three+0x5"},
		{name: "address of a file", site: fmt.Sprintf("%#x", at+5), file: true, event: "three+0x5"},
		{name: "stripped", path: stripped, site: fmt.Sprintf("%#x", at+10), file: true, event: fmt.Sprintf("%#x", at+10)},
		{name: "stripped process", path: stripped, site: fmt.Sprintf("%#x", at), event: fmt.Sprintf("%#x", at)},
		{name: "within", site: "three+0x6", reason: "no instruction of three begins at +0x6: those next to it are at +0x5 and +0xa"},
		{name: "within, stripped", path: stripped, site: fmt.Sprintf("%#x", at+6), reason: fmt.Sprintf("no instruction begins at %#x: those next to it are at %#x and %#x", at+6, at+5, at+10)},
		{name: "behind", site: "three+0x40", reason: "three has only 16 bytes"},
		{name: "nowhere", site: "0x100000", file: true, reason: "site at 0x100000 is not in a loaded segment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := path
			if test.path != "" {
				path = test.path
			}
			p := start(t, exec.Command(path))
			opts := &attach.Options{Args: []string{"none"}}
			if !test.file {
				opts.Target.PIDs = []int{p.PID()}
			}
			s, err := attach.Open(t.Context(), []string{"uprobe:" + path + ":" + test.site}, opts)
			if test.reason != "" {
				if !errors.Is(err, attach.ErrNoSite) || !strings.Contains(err.Error(), test.reason) {
					t.Errorf("got %v, want the reason %q", err, test.reason)
				}
				if err == nil {
					s.Close()
				}
				return
			}
			if err != nil {
				needPrivileges(t, err)
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			p.Do("")
			events := drain(t, s)
			if len(events) != 3 {
				t.Fatalf("got %d events, want 3", len(events))
			}
			if ev := &events[0]; ev.Probe.Kind != reader.Uprobe || ev.Name != test.event {
				t.Errorf("got the event %s of a %v, want %s", ev.Name, ev.Probe.Kind, test.event)
			}
		})
	}
}

// TestInstructionArguments asks for an argument of an instruction, which has
// none.
func TestInstructionArguments(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := build(t, "instructions.c", "gcc", "-O1")
	p := start(t, exec.Command(path))
	s := openAll(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Args: []string{"arg0"}}, "uprobe:"+path+":three+5", "uprobe:"+path+":three")
	p.Do("")
	for _, ev := range drain(t, s) {
		err := ev.Args[0].Err
		if inside := ev.Name != "three"; inside != (err != nil && strings.Contains(err.Error(), "only at its entry")) {
			t.Errorf("%s: got the error %v", ev.Name, err)
		}
	}
}

// TestWildcards attaches to functions of files that no process has mapped,
// selected by wildcards in their path.
func TestWildcards(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O1")
	dir := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(dir, "functions.txt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "functions.fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openAll(t, nil, "uprobe:"+dir+"/func*:negative")
	p := start(t, exec.Command(path))
	p.Do("")
	if events := drain(t, s); len(events) != 1 || events[0].Name != "negative" {
		t.Errorf("got %+v, want one event of negative", events)
	}
	if _, err := attach.Open(t.Context(), []string{"uprobe:" + dir + "/nothing*:negative"}, nil); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("got %v, want that nothing matches", err)
	}
}
