// Package fired shows tests what the probes of their own process fired: the modules in
// contrib are traced by the command as their users trace them.
package fired

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// Args returns the arguments of an event by name.
func Args(ev providertest.Event) map[string]any {
	args := map[string]any{}
	for _, a := range ev.Args {
		args[a.Name] = a.Value
	}
	return args
}

// Traced returns events of a test in the form in which a tracer gets them.
func Traced(events []providertest.Event) (traced []event.Event) {
	for _, ev := range events {
		traced = append(traced, event.Event{
			Time: ev.Time, PID: ev.PID, TID: ev.TID, Comm: ev.Comm,
			Provider: ev.Provider, Name: ev.Name, Args: ev.Args,
		})
	}
	return traced
}

// NoAllocs checks that a wrapped call allocates what the bare one does while the probes are
// loaded and nobody watches them.
func NoAllocs(t *testing.T, bare, wrapped func()) {
	t.Helper()
	if err := provider.LoadAll(nil); err != nil {
		t.Fatal(err)
	}
	defer provider.CloseAll()
	// A goroutine that a call starts may be a new one, or one that has ended.
	least := func(f func()) float64 {
		n := testing.AllocsPerRun(200, f)
		for range 9 {
			n = min(n, testing.AllocsPerRun(200, f))
		}
		return n
	}
	if got, want := least(wrapped), least(bare); got != want {
		t.Errorf("%v allocations, want %v as of what is wrapped", got, want)
	}
}

// Tracer is sdttrace, tracing this process.
type Tracer struct {
	t       testing.TB
	program *tracee.Program
	out     tracee.Output
}

// Trace loads all probes of this process and has sdttrace trace them with these
// arguments, by the kernel, until Stop. The test lies in contrib/NAME.
func Trace(t testing.TB, args ...string) *Tracer {
	t.Helper()
	needs.Root(t)
	if err := provider.LoadAll(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.CloseAll() })
	tr := &Tracer{t: t}
	cmd := exec.Command(build(t), append([]string{"--json", "-p", strconv.Itoa(os.Getpid())}, args...)...)
	cmd.Stdout = &tr.out
	tr.program = tracee.StartVictim(t, cmd)
	tr.program.Stderr().Await(t, "; Ctrl-C ends\n")
	return tr
}

// build returns the path of sdttrace: make test-contrib has built it for all modules.
func build(t testing.TB) string {
	t.Helper()
	if exe := os.Getenv("SDTTRACE"); exe != "" {
		return exe
	}
	exe := filepath.Join(t.TempDir(), "sdttrace")
	cmd := exec.Command("go", "build", "-o", exe, "./cmd/sdttrace")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// Event is one that sdttrace prints.
type Event struct {
	Provider string         `json:"provider"`
	Name     string         `json:"name"`
	Args     map[string]any `json:"args"`
}

// Stop ends sdttrace and returns the events that it printed, of which none is lost.
func (tr *Tracer) Stop() (events []Event) {
	tr.t.Helper()
	tr.program.Signal(os.Interrupt)
	if err := tr.program.End(); err != nil {
		tr.t.Fatalf("sdttrace: %v", err)
	}
	if stderr := tr.program.Stderr().String(); !strings.Contains(stderr, " 0 lost") {
		tr.t.Errorf("sdttrace: %s", stderr)
	}
	for line := range strings.Lines(tr.out.String()) {
		var ev Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			tr.t.Fatalf("%s: %v", line, err)
		}
		events = append(events, ev)
	}
	return events
}
