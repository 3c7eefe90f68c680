package attach_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["lateends"] = tracee.Obey(lateEnds()) }

// lateEnds has probes that begin and end something, of which the latter are loaded by a command.
// Processes share their files.
func lateEnds() func(string) error {
	options := &provider.Options{Backing: provider.BackingFile, Dir: os.Getenv("LATE_DIR")}
	begins, ends := provider.New("latebegins", options), provider.New("lateends", options)
	begin := provider.NewProbe1[int](begins, "begin", "n")
	end := provider.NewProbe1[int](ends, "end", "n")
	return func(command string) error {
		switch command {
		case "begins":
			return begins.Load()
		case "ends":
			return ends.Load()
		case "begin":
			begin.Fire(1)
		case "end":
			end.Fire(1)
		default:
			return fmt.Errorf("unknown command %q", command)
		}
		return nil
	}
}

// TestLateMachine finds, in all processes of the machine, a file in which ends have fired unseen:
// what was begun before pairs with nothing, in each of the processes that had mapped the file, and
// with its end in the others.
func TestLateMachine(t *testing.T) {
	t.Setenv("LATE_DIR", t.TempDir())
	const n = 4 // the last of which maps the file after the scan
	var processes []*tracee.Program
	for range n {
		p := startChild(t, "lateends")
		p.Do("begins")
		processes = append(processes, p)
	}
	a, err := attach.OpenPairs(t.Context(), "latebegins:begin", "lateends:end", &attach.PairOptions{Key: []string{"n"}},
		&attach.Options{Await: true, Rescan: time.Hour})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	for _, p := range processes {
		p.Do("begin")
	}
	for _, p := range processes[:n-1] {
		p.Do("ends")
		p.Do("end") // which nobody sees
	}
	if err := a.Rescan(); err != nil {
		t.Fatal(err)
	}
	processes[n-1].Do("ends")
	for _, p := range processes {
		p.Do("end")
	}
	for _, p := range processes { // which is seen whole
		p.Do("begin")
		p.Do("end")
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	got, want := map[int]int{}, map[int]int{}
	for _, p := range processes {
		want[p.PID()]++
	}
	want[processes[n-1].PID()]++ // all of its ends were seen
	for pair, err := range a.All() {
		if err != nil {
			t.Fatal(err)
		}
		got[pair.Start.PID]++
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pairs by process (-want +got):\n%s", d)
	}
}
