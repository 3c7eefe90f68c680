package attach_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

// TestUnusedOptions holds that options which would have no effect are refused,
// by name.
func TestUnusedOptions(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	probe := liveProbe(t, p.pid(), "args:bare")
	_, prog := cookieProgram(t, attach.PerfLink)
	object, err := os.ReadFile(newestObject)
	if err != nil {
		t.Fatal(err)
	}
	type closer interface{ Close() error }
	for what, open := range map[string]func(*attach.Options) (closer, error){
		"collection": func(o *attach.Options) (closer, error) { return attach.LoadCollection(bytes.NewReader(object), o) },
		"program":    func(o *attach.Options) (closer, error) { return attach.Probe(prog, &probe, o) },
	} {
		for name, o := range map[string]attach.Options{
			"Where":     {Where: "arg0 == 1"},
			"Comm":      {Comm: "init"},
			"Exe":       {Exe: "/bin/sh"},
			"Args":      {Args: []string{"arg0"}},
			"Strings":   {Strings: []string{"arg0"}},
			"MaxString": {MaxString: 100},
			"Follow":    {Follow: []string{"peer"}},
			"RingSize":  {RingSize: 1 << 20},
			"Rescan":    {Rescan: time.Second},
			"Cookies":   {Cookies: []uint64{1}},

			"PrivateStack": {PrivateStack: true},
		} {
			if what == "collection" && (name == "Rescan" || name == "PrivateStack") || what == "program" && name == "Cookies" {
				continue // of use
			}
			if o.Comm == "" && o.Exe == "" {
				o.PIDs = []int{p.pid()}
			}
			c, err := open(&o)
			if err == nil {
				c.Close()
			}
			want := name + " cannot be applied"
			if name == "Cookies" {
				want = "have one cookie"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", what, err, want)
			}
		}
	}
}

// TestSamePID holds that a process which is named twice is traced once.
func TestSamePID(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	_, prog := cookieProgram(t, attach.PerfLink)
	a, err := attach.Probes(prog, []reader.Probe{liveProbe(t, p.pid(), "args:bare")}, &attach.Options{PIDs: []int{p.pid(), p.pid()}, Link: attach.PerfLink})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	if plan := a.Plan(); len(plan) != 1 {
		t.Errorf("%d sites, want 1: %+v", len(plan), plan)
	}
}
