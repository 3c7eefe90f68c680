package collection_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestManyProcesses attaches a collection to more processes than get
// links of their own. One link serves them all, other processes of the program
// give no events, and a library that one of them loads later is also attached to.
func TestManyProcesses(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	programs, pids := tracee.StartMany(t, path, 12)
	stranger := start(t, exec.Command(path))
	late := start(t, tracee.Self("typed"))
	pids = append(pids, late.PID())
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		spec := bpf.ReadSpec(t, newestObject)
		for name, p := range spec.Programs {
			p.AttachTo = map[string]string{"bare": "args:bare", "sleepable": "typed:*"}[name]
		}
		before := bpf.OwnLinks(t)
		c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: pids}, Link: link, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true})
		if err := c.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, links := c.Plan("bare").Attached(), len(bpf.NewLinks(t, before))-c.Plan("sleepable").Attached(); n != 12 || links > 1 {
			t.Errorf("link %v: %d sites by %d links, want 12 by one", link, n, links)
		}
		for _, p := range programs {
			p.Do("")
		}
		stranger.Do("")
		if n := len(firings(t, c)); n != 12 {
			t.Errorf("link %v: %d events, want 12", link, n)
		}
		if link == attach.AutoLink {
			late.Do("load")
			awaitSites(t, c, "sleepable", 2)
			late.Do("ints")
			late.Do("bare")
			if n := len(firings(t, c)); n != 2 {
				t.Errorf("%d events of probes that were declared later, want 2", n)
			}
		}
		one := attachProgram(t, c, "bare", "args:ints", &collection.Options{Target: attach.Target{PIDs: pids[:1]}})
		programs[0].Do("")
		programs[1].Do("")
		if n := len(firings(t, c)); n != 3 {
			t.Errorf("link %v: %d events with another link for one process, want 3", link, n)
		}
		for _, others := range [][]int{nil, {os.Getpid()}} {
			_, err := c.AttachProgram(t.Context(), "bare", "args:bare", &collection.Options{Target: attach.Target{PIDs: others}})
			if err == nil || !strings.Contains(err.Error(), "load it without Target.PIDs") {
				t.Errorf("link %v: attaching to processes %v: error %v", link, others, err)
			}
		}
		if err := errors.Join(one.Close(), c.Close(), c.Wait(t.Context())); err != nil {
			t.Error(err)
		}
	}
}
