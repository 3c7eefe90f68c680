package attach_test

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestSnapshots takes what happened around events that fulfil a condition, of all
// probes of the session.
func TestSnapshots(t *testing.T) { sharedToo(t, checkSnapshots) }

func checkSnapshots(t *testing.T) {
	p := provider.New("snapshots", nil)
	t.Cleanup(func() { p.Close() })
	step := provider.NewProbe1[int](p, "step", "n")
	done := provider.NewProbe2[int, string](p, "done", "status", "path")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "snapshots:*", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	var snaps []attach.Snapshot
	ended := make(chan error)
	go func() {
		var first error
		for snap, err := range s.Snapshots(attach.SnapshotOptions{On: `status >= 500 && path ~ "/api/*"`, Before: 3, After: 2, Every: 1, Wait: time.Minute}) {
			if err != nil {
				first = err
			}
			snaps = append(snaps, snap)
		}
		ended <- first
	}()
	step.Fire(1)
	done.Fire(500, "/other")
	step.Fire(2)
	step.Fire(3)
	done.Fire(503, "/api/a")
	step.Fire(4)
	done.Fire(504, "/api/b") // within the first
	step.Fire(5)
	done.Fire(505, "/api/c")
	// The session ends before two events have followed.
	for deadline := time.Now().Add(10 * time.Second); !s.Idle() && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil { // which would drop what is unread
		t.Error(err)
	}
	var got [][]any
	for _, snap := range snaps {
		values := []any{snap.On, snap.Skipped}
		for _, ev := range snap.Events {
			values = append(values, ev.Args[0].Value)
		}
		got = append(got, values)
	}
	if len(got) == 0 || len(got[0]) != 8 || got[0][0] != 3 || got[0][1] != uint64(1) || got[0][2] != int64(500) || got[0][5] != int64(503) || got[0][7] != int64(504) {
		t.Fatalf("snapshots %v, want [3 1 500 2 3 503 4 504] first", got)
	}
	if len(got) != 2 || len(got[1]) != 6 || got[1][0] != 3 || got[1][5] != int64(505) {
		t.Errorf("snapshots %v, want [3 0 4 504 5 505] second", got)
	}
}

// TestSnapshotLimits checks that snapshots are rate-limited, wait for events after them
// only so long, and need a probe that their condition fits.
func TestSnapshotLimits(t *testing.T) { sharedToo(t, checkSnapshotLimits) }

func checkSnapshotLimits(t *testing.T) {
	p := provider.New("snaplimits", nil)
	t.Cleanup(func() { p.Close() })
	done := provider.NewProbe1[int](p, "done", "status")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "snaplimits:*", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	for snap, err := range s.Snapshots(attach.SnapshotOptions{On: "path == 1"}) {
		if where := (*attach.WhereError)(nil); !errors.As(err, &where) {
			t.Errorf("snapshot %+v, %v, want an error about the condition", snap, err)
		}
	}
	go func() {
		for range 10 {
			done.Fire(500)
		}
	}()
	n := 0
	for snap, err := range s.Snapshots(attach.SnapshotOptions{On: "status == 500", After: 3, Every: time.Hour, Wait: time.Minute}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 && (len(snap.Events) != 4 || snap.On != 0 || snap.Skipped != 3) {
			t.Errorf("snapshot %+v, want four events", snap)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d snapshots within an hour, want one", n)
	}
	st, err := s.Stats()
	if err != nil || s.Skipped() == 0 || s.Skipped() != st.Received-1 {
		t.Errorf("%d events are skipped, want all but the first of %+v, error %v", s.Skipped(), st, err)
	}
}
