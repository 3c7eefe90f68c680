package collection_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// newestObject is testdata/collection.bpf.c compiled with libbpf 1.7.
const newestObject = "testdata/collection-1.7.o"

// TestLoad attaches what the sections of the object say.
func TestLoad(t *testing.T) {
	p := start(t, exec.Command(compile(t, "gcc", "-O2", "-DSEMAPHORES")))
	b, err := os.ReadFile(needs.CompileBPF(t, "testdata/collection.bpf.c"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.Load(t.Context(), bytes.NewReader(b), &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Cookie: 1 << 63})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string]int{"ints": 1, "bare": 1, "any": 0, "left": 0, "none": 0} {
		if got := c.Plan(name).Attached(); got != want {
			t.Errorf("%s is attached to %d sites, want %d", name, got, want)
		}
	}
	p.Do("")
	p.Do("")
	want := collectionEvent{Program: 3, Cookie: -1 << 63}
	for i := range want.Errors {
		want.Errors[i] = -2 // ENOENT
	}
	if d := cmp.Diff([]collectionEvent{want, want}, firings(t, c)); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	var sums []uint64
	if err := c.Maps["sum"].Lookup(uint32(0), &sums); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, s := range sums {
		total += int64(s)
	}
	if want := int64(2 * (-8 + 200 - 1600)); total != want {
		t.Errorf("BPF_USDT's arguments add up to %d, want %d", total, want)
	}
	if err := errors.Join(c.Close(), c.Wait(t.Context())); err != nil {
		t.Error(err)
	}
	live.Check(t, p.PID(), "args:bare", 0x90, 0)
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := c.AttachProgram(t.Context(), "any", "args:bare", nil); !errors.Is(err, attach.ErrClosed) {
		t.Errorf("attach after Close: error %v, want one that wraps attach.ErrClosed", err)
	}
}

// TestSteps changes a variable and what a program is attached to, and
// attaches a program that sleeps to probes declared in Go.
func TestSteps(t *testing.T) {
	p := start(t, tracee.Self("typed"))
	p.Do("load")
	spec := bpf.ReadSpec(t, newestObject)
	if err := spec.Variables["mark"].Set(uint32(100)); err != nil {
		t.Fatal(err)
	}
	spec.Programs["bare"].AttachTo = "typed:bare"
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if plan := c.Plan("bare"); len(plan) != 1 || plan.Attached() != 0 {
		t.Errorf("plan before Attach %+v, want one site, not attached", plan)
	}
	if err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	attachProgram(t, c, "sleepable", "typed:ints", &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Cookie: 7})
	p.Do("bare")
	p.Do("ints")
	events := firings(t, c)
	if len(events) != 2 || events[0].Program != 300 || events[1].Program != 200 || events[1].Cookie != 7 {
		t.Fatalf("events %+v, want bare's and sleepable's", events)
	}
	want := [12]int64{-8, 200, -1600, 60000, -1 << 31, -1}
	if events[1].Args != want || events[1].Count != 6 {
		t.Errorf("arguments %v, want %v", events[1].Args, want)
	}
}

// TestErrors checks that an error names each cause once, and that
// programs which can be attached are.
func TestErrors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := bpf.ReadSpec(t, newestObject)
	spec.Programs["bare"].AttachTo = path + ":args:nothing"
	spec.Programs["ints"].AttachTo = path + ":args:nothing"
	spec.Programs["any"].AttachTo = path + ":args:bare"
	c := newCollection(t, spec, nil)
	err := c.Attach(t.Context())
	if !errors.Is(err, attach.ErrNoMatch) || !strings.HasPrefix(err.Error(), "attach bare, ints: ") || strings.Count(err.Error(), "nothing") != 1 {
		t.Errorf("error %v, want one about bare and ints that wraps ErrNoMatch", err)
	}
	p.Do("")
	if events := firings(t, c); len(events) != 1 || events[0].Program != 1 {
		t.Errorf("events %+v, want one of any", events)
	}
	if _, err := c.AttachProgram(t.Context(), "left", "args:bare", nil); err == nil {
		t.Error("attach of a program that is the caller's: no error")
	}
	if _, err := c.AttachProgram(t.Context(), "any", path+":args:nothing", nil); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("error %v, want one that wraps ErrNoMatch", err)
	}
	b, err := os.ReadFile(newestObject)
	if err != nil {
		t.Fatal(err)
	}
	other := start(t, exec.Command("cat"))
	if c, err := collection.Load(t.Context(), bytes.NewReader(b), &collection.Options{Target: attach.Target{PIDs: []int{other.PID()}}}); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("collection %v, error %v, want one that wraps ErrNoMatch", c, err)
	}
	if c, err := collection.Load(t.Context(), bytes.NewReader(b[:len(b)/2]), nil); err == nil {
		c.Close()
		t.Error("half an object: no error")
	}
}

// TestRescan attaches to probes that are declared later, until the
// context is done.
func TestRescan(t *testing.T) {
	p := start(t, tracee.Self("typed"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spec := bpf.ReadSpec(t, newestObject)
	spec.Programs["any"].AttachTo = "typed:ints"
	delete(spec.Programs, "bare")
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true, Cookie: 3})
	if err := c.Attach(ctx); err != nil {
		t.Fatal(err)
	}
	p.Do("load")
	awaitSites(t, c, "any", 1)
	p.Do("ints")
	if events := firings(t, c); len(events) != 1 || events[0].Args[1] != 200 || events[0].Cookie != 3 {
		t.Errorf("events %+v, want one", events)
	}
	cancel()
	for end := time.Now().Add(5 * time.Minute); len(c.Plan("any")) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still attached after the context is done")
		}
	}
	p.Do("ints")
	if events := firings(t, c); len(events) != 0 {
		t.Errorf("events %+v after the context is done", events)
	}
}

// TestLinked reads what bpftool makes of several objects.
func TestLinked(t *testing.T) {
	if _, err := exec.LookPath("bpftool"); err != nil {
		needs.Skip(t, "needs bpftool: %v", err)
	}
	linked := filepath.Join(t.TempDir(), "linked.o")
	cmd := exec.Command("bpftool", "gen", "object", linked, needs.CompileBPF(t, "testdata/collection.bpf.c"), needs.CompileBPF(t, "testdata/shop.bpf.c"))
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	spec := bpf.ReadSpec(t, linked)
	if spec.Programs["order"] == nil || spec.Programs["ints"] == nil {
		t.Errorf("programs %v, want those of both objects", spec.Programs)
	}
	newCollection(t, spec, nil)
}
