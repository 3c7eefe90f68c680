package attach

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// everyMap calls f with each map of an aggregate, by its name.
func everyMap(m *load.Maps, f func(name string, m **ebpf.Map)) {
	refs := reflect.ValueOf(&m.Refs).Elem()
	for i := range refs.NumField() {
		name := refs.Type().Field(i).Name
		switch at := refs.Field(i).Addr().Interface().(type) {
		case **ebpf.Map:
			f(name, at)
		case *[2]*ebpf.Map:
			f(name+"[0]", &at[0])
			f(name+"[1]", &at[1])
		}
	}
}

// TestReadFails has each map fail in turn while groups are read, or are put aside: what was
// taken by then is in the next result, and unread after Close.
func TestReadFails(t *testing.T) {
	p := provider.New("readfails", nil)
	start, end := provider.NewProbe1[int64](p, "start", "n"), provider.NewProbe1[int64](p, "end", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	selectors := []string{"readfails:end"}
	target := Options{Target: Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour}
	stacks := target
	stacks.Stack = 4
	for name, open := range map[string]func() (*totals, error){
		"count": func() (*totals, error) {
			a, err := OpenAggregate(t.Context(), selectors, Count(), &target)
			return &a.totals, err
		},
		"sum": func() (*totals, error) {
			a, err := OpenAggregate(t.Context(), selectors, Sum("n"), &target)
			return &a.totals, err
		},
		"groups": func() (*totals, error) {
			a, err := OpenAggregate(t.Context(), selectors, Count().By("n"), &target)
			return &a.totals, err
		},
		"stacks": func() (*totals, error) {
			a, err := OpenAggregate(t.Context(), selectors, Count().By("stack"), &stacks)
			return &a.totals, err
		},
		"latency": func() (*totals, error) {
			a, err := OpenLatency(t.Context(), "readfails:start", "readfails:end", &LatencyOptions{By: []string{"n"}}, &target)
			return &a.totals, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := open()
			if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
				needs.Skip(t, "%v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			fired, received, failures := uint64(0), uint64(0), 0
			fire := func() {
				for range 5 {
					start.Fire(int64(fired % 3))
					end.Fire(int64(fired % 3))
					fired++
				}
			}
			read := func() error {
				groups, err := a.Read()
				for i := range groups {
					received += groups[i].Count
				}
				return err
			}
			aside := func() {
				if a.layout.KeySize > 0 {
					a.keep(func() (bool, error) { return true, nil })
				}
			}
			broken := func(m **ebpf.Map, do func()) {
				closed, err := (*m).Clone()
				if err != nil {
					t.Fatal(err)
				}
				closed.Close()
				a.mu.Lock()
				*m, closed = closed, *m
				a.mu.Unlock()
				do()
				a.mu.Lock()
				*m = closed
				a.mu.Unlock()
			}
			check := func(what string) {
				t.Helper()
				if err := read(); err != nil {
					t.Fatal(err)
				}
				if received != fired {
					t.Fatalf("%s: %d events received, %d fired", what, received, fired)
				}
			}
			everyMap(a.programs.maps, func(name string, m **ebpf.Map) {
				if *m == nil {
					return
				}
				for range 2 { // of both groups one after the other
					fire()
					aside()
					fire()
					broken(m, func() {
						if read() != nil {
							failures++
						}
						aside()
					})
					fire()
					check("after " + name + " has failed")
				}
			})
			if failures == 0 {
				t.Error("no failure of a map has been one of Read")
			}
			fire()
			aside()
			fire()
			broken(&a.programs.maps.Control, func() { err = a.Close() })
			st, statErr := a.Stats()
			if sum := st.Received + st.Lost + st.Filtered + st.Missed + st.Unread; statErr != nil || st.Fired != sum || st.Unread != 10 {
				t.Errorf("Close returns %v; stats %+v, %v; want 10 events unread", err, st, statErr)
			}
		})
	}
}

// TestReadWaits checks that a program which updates groups for long holds up Read alone.
func TestReadWaits(t *testing.T) {
	LoadOwn(t, "readwaits")
	a, err := OpenAggregate(t.Context(), []string{"readwaits:fired"}, Sum("n"), &Options{Target: Target{PIDs: []int{os.Getpid()}}})
	if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	enter := func(n int) {
		b, err := a.programs.maps.Counters.LookupBytes(uint32(0))
		if err != nil {
			t.Fatal(err)
		}
		codegen.CountersOf(b, 0)[codegen.CounterEntered] += byte(n)
		if err := a.programs.maps.Counters.Put(uint32(0), b); err != nil {
			t.Fatal(err)
		}
	}
	enter(1) // and does not leave
	read := make(chan error)
	go func() {
		_, err := a.Read()
		read <- err
	}()
	for waiting := false; !waiting; time.Sleep(time.Millisecond) {
		if a.mu.TryLock() {
			waiting = a.epoch == 1
			a.mu.Unlock()
		}
	}
	done := make(chan error)
	go func() {
		_, err := a.Stats()
		a.fail(errors.New("meanwhile"))
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Stats waits for the program that Read waits for")
	}
	enter(-1)
	if err := <-read; err != nil {
		t.Error(err)
	}
}
