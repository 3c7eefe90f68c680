package attach_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["snapped"] = tracee.Obey(snappedChild()) }

// snappedHits are the events of the child "snapped" that fulfil the condition: next to
// each other, within a snapshot, at its end, and far apart.
var snappedHits = map[int]bool{1: true, 20: true, 21: true, 25: true, 26: true, 40: true, 60: true, 98: true}

const snappedEvents = 100

func snappedChild() func(string) error {
	p := provider.New("snapped", &provider.Options{Local: true})
	step := provider.NewProbe1[int](p, "step", "n")
	done := provider.NewProbe3[int, bool, string](p, "done", "n", "hit", "path")
	return func(command string) error {
		switch command {
		case "load":
			return p.Load()
		case "fire":
			for n := range snappedEvents {
				if n%3 == 0 && !snappedHits[n] {
					step.Fire(n) // has no such argument
				} else {
					done.Fire(n, snappedHits[n], fmt.Sprint("/", n))
				}
			}
		case "late":
			time.Sleep(time.Second) // longer than the snapshot waits
			step.Fire(snappedEvents)
		}
		return nil
	}
}

// snapshotsOf returns all snapshots of a session as JSON.
func snapshotsOf(t *testing.T, s *attach.Session, o attach.SnapshotOptions) (all []string) {
	t.Helper()
	for snap, err := range s.Snapshots(o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snapText(t, snap))
	}
	return all
}

func snapText(t *testing.T, snap attach.Snapshot) string {
	t.Helper()
	text := fmt.Sprintf("%d %d", snap.On, snap.Skipped)
	for _, ev := range snap.Events {
		ev.TID, ev.Time = 0, time.Time{}
		b, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		text += "\n" + string(b)
	}
	return text
}

// wantSnapshots returns the numbers of the events of each snapshot, which follow On and
// Skipped, if none has to wait for time to pass.
func wantSnapshots(before, after int, once bool) (all [][]int) {
	skipped, last := 0, -1
	for n := 0; n < snappedEvents; n++ {
		switch {
		case !snappedHits[n]:
			continue
		case once && len(all) > 0:
			skipped++
			continue
		}
		first := max(0, n-before)
		end := min(snappedEvents-1, n+after)
		snap := []int{n - first, 0}
		for i := first; i <= end; i++ {
			snap = append(snap, i)
			if i > n && snappedHits[i] {
				skipped++
			}
		}
		snap[1] = skipped
		skipped, last = 0, end
		all = append(all, snap)
		n = last
	}
	return all
}

// TestEqualSnapshots takes snapshots of the same events via the kernel, through shared
// memory and from a flight recorder's file: they are equal, and have exactly the events
// that they should.
func TestEqualSnapshots(t *testing.T) {
	dir := recorder(t)
	for _, o := range []attach.SnapshotOptions{
		{Before: 3, After: 2, Every: 1, Wait: time.Minute},
		{Before: -1, After: -1, Every: 1, Wait: time.Minute},
		{Before: 1000, After: 30, Every: 1, Wait: time.Minute},
		{Before: 5, After: 5, Every: time.Hour, Wait: time.Minute},
		{Before: 2, After: 10, Every: 1, Wait: 500 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(o.Before, " ", o.After, " ", o.Every), func(t *testing.T) {
			o.On = `hit && path ~ "/*"`
			p := startChild(t, "snapped")
			p.Do("load")
			target := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
			two := both(t, target, func(o *attach.Options) (*attach.Session, error) {
				return attach.Open(t.Context(), []string{"snapped:*"}, o)
			})
			p.Do("fire")
			p.Do("late")
			for _, s := range two {
				if err := s.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			kernel, local := snapshotsOf(t, two[0], o), snapshotsOf(t, two[1], o)
			p.Kill()
			o2 := &attach.Options{Target: attach.Target{Recordings: []string{recordingOf(t, dir, p)}}}
			replayed, err := attach.Open(t.Context(), []string{"snapped:*"}, o2)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			recorded := snapshotsOf(t, replayed, o)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("a replay takes %v", took)
			}
			for _, s := range append(two[:], replayed) {
				checkSum(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if d := cmp.Diff(kernel, local); d != "" {
				t.Errorf("snapshots (-kernel +local):\n%.3000s", d)
			}
			if d := cmp.Diff(local, recorded); d != "" {
				t.Errorf("snapshots (-local +recorded):\n%.3000s", d)
			}
			var numbers [][]int
			for _, text := range local {
				numbers = append(numbers, snappedNumbers(t, text))
			}
			if o.Wait < time.Minute {
				if last := numbers[len(numbers)-1]; last[len(last)-1] >= snappedEvents {
					t.Errorf("snapshot %d has an event that came too late", last)
				}
				return
			}
			want := wantSnapshots(max(o.Before, 0), max(o.After, 0), o.Every > 1)
			if n := len(want) - 1; want[n][len(want[n])-1] == snappedEvents-1 && len(want[n])-2 < want[n][0]+1+max(o.After, 0) {
				want[n] = append(want[n], snappedEvents) // there was room for the late one
			}
			if d := cmp.Diff(want, numbers); d != "" {
				t.Errorf("snapshots (-want +got):\n%s", d)
			}
		})
	}
}

// snappedNumbers returns On, Skipped and the arguments n of a snapshot.
func snappedNumbers(t *testing.T, text string) []int {
	t.Helper()
	numbers := make([]int, 2)
	if _, err := fmt.Sscan(text, &numbers[0], &numbers[1]); err != nil {
		t.Fatal(err)
	}
	rest := text
	for {
		_, after, found := strings.Cut(rest, `"args":{"n":`)
		if !found {
			return numbers
		}
		var n int
		fmt.Sscan(after, &n)
		numbers, rest = append(numbers, n), after
	}
}

// TestSnapshotClosed closes a session while a snapshot waits for events: the events
// until then are yielded.
func TestSnapshotClosed(t *testing.T) { sharedToo(t, checkSnapshotClosed) }

func checkSnapshotClosed(t *testing.T) {
	p := provider.New("snapclosed", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe1[int](p, "done", "status")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "snapclosed:done", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	snaps := make(chan attach.Snapshot, 10)
	go func() {
		defer close(snaps)
		for snap, err := range s.Snapshots(attach.SnapshotOptions{On: "status == 500", Wait: time.Hour}) {
			if err != nil {
				t.Error(err)
			}
			snaps <- snap
		}
	}()
	probe.Fire(200)
	probe.Fire(500)
	inTime(t, "taking the events", time.Minute, func() {
		for {
			if st, err := s.Stats(); err != nil || st.Received == 2 {
				return
			}
		}
	})
	inTime(t, "closing", time.Minute, func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var all [][]event.Event
	inTime(t, "the end of the snapshots", time.Minute, func() {
		for snap := range snaps {
			all = append(all, snap.Events)
		}
	})
	if len(all) != 1 || len(all[0]) != 2 {
		t.Errorf("snapshots %v, want one of two events", all)
	}
}
