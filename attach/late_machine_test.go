package attach_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["lateends"] = tracee.Obey(lateEnds()) }

// lateEnds has probes that begin and end something, of which the latter are loaded by a command.
// Processes share their files.
func lateEnds() func(string) error {
	options := &provider.Options{Backing: provider.BackingFile, Dir: os.Getenv("LATE_DIR")}
	begins, ends := provider.New("latebegins", options), provider.New("lateends", options)
	begin := provider.NewProbe2[int, int](begins, "begin", "n", "time")
	end := provider.NewProbe2[int, int](ends, "end", "n", "time")
	times := map[string]int{}
	return func(command string) error {
		times[command]++
		switch command {
		case "begins":
			return begins.Load()
		case "ends":
			return ends.Load()
		case "begin":
			begin.Fire(1, times[command])
		case "end":
			end.Fire(1, times[command])
		default:
			return fmt.Errorf("unknown command %q", command)
		}
		return nil
	}
}

// TestLateMachine finds, in all processes of the machine, a file in which ends have fired unseen:
// what was begun before pairs with nothing, in each of the processes that had mapped the file, and
// with its end in the others. Where the kernel's news of the mapping came first, the end was seen.
func TestLateMachine(t *testing.T) {
	tracee.Alone(t, "late")
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
		p.Do("end") // seldom seen
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
	type pair struct{ process, start, end int }
	got := map[pair]int{}
	for p, err := range a.All() {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(processes, func(own *tracee.Program) bool { return own.PID() == p.Start.PID }) {
			continue // another run of the tests has such processes too
		}
		time := func(e *event.Event) int { return int(e.Args[1].Value.(int64)) }
		got[pair{p.Start.PID, time(&p.Start), time(&p.End)}]++
	}
	want := map[pair]int{}
	for i, p := range processes {
		if i == n-1 { // all of its ends were seen
			want[pair{p.PID(), 1, 1}], want[pair{p.PID(), 2, 2}] = 1, 1
			continue
		}
		want[pair{p.PID(), 2, 3}] = 1
		if seen := (pair{p.PID(), 1, 1}); got[seen] > 0 {
			want[seen] = 1
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); d != "" {
		st, err := a.Stats()
		counts, countsErr := a.Counts()
		t.Errorf("pairs (-want +got):\n%s\n%+v %v\n%+v %v", d, st, err, counts, countsErr)
	}
}
