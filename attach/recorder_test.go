package attach_test

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestRecorder checks that tests which record probes see what tracers see, and that
// tracers which are attached before or meanwhile lose nothing.
func TestRecorder(t *testing.T) {
	for name, fire := range map[string]func(){"recorded": dialProvider(t, "recorded"), "recordedfields": dialedProvider(t, "recordedfields")} {
		p := provider.New(name, nil)
		options := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}}
		before := open(t, name+":*", options)
		var during *attach.Session
		var recorded []event.Event
		t.Run(name, func(test *testing.T) {
			rec := providertest.Record(test, p)
			fire()
			during = open(t, name+":*", options)
			fire()
			recorded = fired.Traced(rec.Events("dial"))
		})
		fire()
		all, n := drain(t, before), len(dials)
		if len(all) != 3*n {
			t.Fatalf("%s: %d events, want %d", name, len(all), 3*n)
		}
		sameArgs(t, recorded, all[:2*n])
		sameArgs(t, drain(t, during), all[n:])
		for _, s := range []*attach.Session{before, during} {
			if err := s.Wait(t.Context()); err != nil { // the kernel may detach later
				t.Fatal(err)
			}
		}
		if p.Enabled() {
			t.Errorf("%s is enabled though nobody watches it", name)
		}
	}
}

// sameArgs compares the arguments of events, except Deep: it points to a stack, which may
// move from one record of an event to the other.
func sameArgs(t *testing.T, got, want []event.Event) {
	t.Helper()
	for _, events := range [][]event.Event{got, want} {
		for i := range events {
			events[i].Args = slices.DeleteFunc(slices.Clone(events[i].Args), func(a event.Arg) bool { return a.Name == "Deep" })
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if g, w := got[i], want[i]; g.Provider != w.Provider || g.Name != w.Name || g.PID != w.PID || !reflect.DeepEqual(g.Args, w.Args) {
			t.Errorf("event %d:\n%s:%s of %d %v\nwant\n%s:%s of %d %v", i, g.Provider, g.Name, g.PID, g.Args, w.Provider, w.Name, w.PID, w.Args)
		}
	}
}
