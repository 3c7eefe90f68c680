package attach_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

// TestOmit checks that events lack what the session omits, and nothing else, whether their
// records have a known size or texts and stacks behind it.
func TestOmit(t *testing.T) {
	p := provider.New("omit", nil)
	t.Cleanup(func() { p.Close() })
	number := provider.NewProbe1[int](p, "number", "n")
	text := provider.NewProbe2[int, string](p, "text", "n", "path")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	for omit := range attach.OmitTime | attach.OmitProcess | attach.OmitComm + 1 {
		checkOmit(t, number, text, omit, &attach.Options{})
		checkOmit(t, number, text, omit, &attach.Options{Where: "n == 7 && comm != \"\" && pid > 0"})
		if omit&attach.OmitProcess == 0 {
			checkOmit(t, number, text, omit, &attach.Options{Stack: 8})
		}
	}
}

// checkOmit fires two probes, and checks their events.
func checkOmit(t *testing.T, number *provider.Probe1[int], text *provider.Probe2[int, string], omit attach.Omit, o *attach.Options) {
	t.Helper()
	o.Target.PIDs = []int{os.Getpid()}
	s := openEvents(t, "omit:*", &attach.EventOptions{Omit: omit}, o)
	defer s.Close()
	begun := time.Now()
	if o.Where != "" {
		number.Fire(6)
	}
	number.Fire(7)
	text.Fire(7, "/item")
	ended := time.Now()
	all := drain(t, s)
	if len(all) != 2 || len(all[1].Args) != 2 || all[0].Args[0].Value != int64(7) || all[1].Args[0].Value != int64(7) || all[1].Args[1].Value != "/item" {
		t.Fatalf("omit %b, where %q, stack %d: got events %v", omit, o.Where, o.Stack, all)
	}
	stacks := 0 // in rare cases the kernel cannot read one
	for _, ev := range all {
		checkOmitted(t, omit, &ev, begun, ended)
		if (ev.Stack != nil) != (o.Stack > 0) {
			t.Errorf("omit %b, stack %d: got stack %v", omit, o.Stack, ev.Stack)
		} else if ev.Stack != nil && len(ev.Stack.PCs) > 1 {
			stacks++
		}
	}
	if o.Stack > 0 && stacks == 0 {
		t.Errorf("omit %b, stack %d: got no stacks", omit, o.Stack)
	}
}

// checkOmitted checks what an event that fired from begun to ended has beside its arguments.
func checkOmitted(t *testing.T, omit attach.Omit, ev *event.Event, begun, ended time.Time) {
	t.Helper()
	const slack = time.Millisecond // of the conversion between clocks
	if omit&attach.OmitTime != 0 {
		if !ev.Time.IsZero() {
			t.Errorf("omit %b: got time %v, want none", omit, ev.Time)
		}
	} else if ev.Time.Before(begun.Add(-slack)) || ev.Time.After(ended.Add(slack)) {
		t.Errorf("omit %b: got time %v, want one from %v to %v", omit, ev.Time, begun, ended)
	}
	wantPID := os.Getpid()
	if omit&attach.OmitProcess != 0 {
		wantPID = 0
	}
	if ev.PID != wantPID || (ev.TID == 0) != (wantPID == 0) {
		t.Errorf("omit %b: got process %d, thread %d, want process %d", omit, ev.PID, ev.TID, wantPID)
	}
	if (ev.Comm == "") != (omit&attach.OmitComm != 0) {
		t.Errorf("omit %b: got thread name %q", omit, ev.Comm)
	}
}

// TestOmitRefused checks that nothing is omitted that something else needs.
func TestOmitRefused(t *testing.T) {
	p := provider.New("omitted", nil)
	t.Cleanup(func() { p.Close() })
	provider.NewProbe1[int](p, "number", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	omit, own := attach.OmitTime|attach.OmitComm, attach.Target{PIDs: []int{os.Getpid()}}
	probes := []string{"omitted:number"}
	opened := func(c io.Closer, err error) error {
		if err == nil {
			c.Close()
		}
		return err
	}
	s, err := attach.OpenEvents(t.Context(), probes, &attach.EventOptions{Omit: omit}, &attach.Options{Target: own})
	if opened(s, err) != nil {
		t.Fatal(err)
	}
	var snapshots error
	for _, err := range s.Snapshots(attach.SnapshotOptions{On: "n > 0"}) {
		snapshots = err
	}
	for name, err := range map[string]error{
		"snapshots":     snapshots,
		"unknown parts": (&attach.EventOptions{Omit: 1 << 7}).Validate(nil),
		"stacks":        (&attach.EventOptions{Omit: attach.OmitProcess}).Validate(&attach.Options{Stack: 8}),
	} {
		var option *attach.OptionError
		if !errors.As(err, &option) || option.Option != "Omit" {
			t.Errorf("%s: got error %v, want one in Omit", name, err)
		}
	}
}
