package source

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/internal/tracefile"
)

// TestLosses looks at a number of lost events that grows, and asks about times.
func TestLosses(t *testing.T) {
	now, lost, broken := uint64(100), uint64(0), false
	l := &Losses{now: func() uint64 { now++; return now }, looked: 100, count: func() (uint64, error) {
		if broken {
			return 0, errors.New("broken")
		}
		return lost, nil
	}}
	wall := func(at uint64) time.Time { return time.Unix(0, int64(at)) }
	at := func(when, n uint64) {
		now, lost = when, n
		l.look()
	}
	at(200, 0)
	at(300, 5)
	at(400, 7) // goes on
	at(500, 7)
	at(600, 8)
	broken = true
	at(700, 9)
	broken = false
	l.Unseen(690, []int{4})
	for _, test := range []struct {
		from, to uint64
		pid      int
		want     bool
	}{
		{100, 200, 1, false}, {100, 202, 1, true}, {250, 260, 1, true}, {420, 499, 1, false}, {420, 550, 1, true}, {605, 606, 1, true},
	} {
		if got := l.Between(test.from, test.to, test.pid); got != test.want {
			t.Errorf("between %d and %d: %t, want %t", test.from, test.to, got, test.want)
		}
	}
	all := l.List(wall)
	if n := len(all); n == 0 || all[0].N != 7 {
		t.Errorf("losses %+v", all)
	}
	sum := uint64(0)
	for _, one := range all {
		sum += one.N
	}
	if sum != 9 {
		t.Errorf("losses of %d events, want 9: %+v", sum, all)
	}
	later := &Losses{now: func() uint64 { return 3 }, count: func() (uint64, error) { return 0, nil }}
	later.Unseen(0, []int{4})
	if !later.Between(0, 5, 4) || later.Between(0, 5, 5) || len(later.List(wall)) != 0 {
		t.Error("what fired unseen in one process is of another one, or is shown")
	}
}

// TestLossesRest watches while no record comes, counts the looks, and has a record come: it is
// looked at once, and at short intervals from then on.
func TestLossesRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, looked := 0, time.Now()
		l := NewLosses(func() uint64 { return uint64(time.Now().UnixNano()) }, func() (uint64, error) {
			looks, looked = looks+1, time.Now()
			return 0, nil
		})
		last := func() (n int, ago time.Duration) {
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			return looks, time.Since(looked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go l.Watch(ctx)
		time.Sleep(time.Minute)
		before, _ := last()
		if most := int(time.Minute/restInterval) + 10; before > most || before < most/2 {
			t.Errorf("%d looks in a minute without records, want about %d", before, most)
		}
		l.Heard()
		if n, ago := last(); ago > 0 || n != before+1 {
			t.Errorf("%d looks at the first record, the last %v ago", n-before, ago)
		}
		for began := time.Now(); time.Since(began) < time.Second; time.Sleep(lossInterval) {
			l.Heard()
			if _, ago := last(); ago > lossInterval {
				t.Fatalf("the last look was %v ago", ago)
			}
		}
		cancel()
	})
}

// TestLossesBound reads the losses of files that lie: work and memory are bounded, and no loss
// is forgotten.
func TestLossesBound(t *testing.T) {
	l := &Losses{}
	const n = 50_000
	took := turns.Spent(func() {
		for i := range n {
			l.know([]tracefile.Loss{{From: int64(i * 10), To: int64(i*10 + 1), N: 1}, {From: 9, To: 3, N: 7}})
		}
	})
	if took > 5*time.Second || len(l.all) > maxLosses {
		t.Errorf("%d losses take %v, and %d are kept", n, took, len(l.all))
	}
	sum := uint64(0)
	for _, one := range l.List(func(at uint64) time.Time { return time.Unix(0, int64(at)) }) {
		sum += one.N
	}
	if sum != n || !l.Between(15, 16, 1) || !l.Between(10*n-10, 10*n, 1) || l.Between(10*n, 10*n+5, 1) || l.Between(10*n-15, 10*n-12, 1) {
		t.Errorf("%d events were lost, want %d", sum, n)
	}
}
