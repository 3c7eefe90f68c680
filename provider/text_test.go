//go:build linux

package provider_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// level is a named integer with a method String, and weight a struct with one.
type level int

func (l level) String() string { return fmt.Sprint("level ", int(l)) }

type weight struct{ grams, tare [4]int }

func (w weight) String() string { return fmt.Sprint(w.grams[0]-w.tare[0], " g") }

// TestTextNoAllocs checks that an unwatched Text is neither converted nor allocated.
func TestTextNoAllocs(t *testing.T) {
	p := newProvider("textallocs")
	probe := provider.NewProbe4[provider.Text, provider.Text, provider.Text, provider.Text](p, "four", "a", "b", "c", "d")
	load(t, p)
	called := 0
	err := errors.New("wrong")
	fire := func() {
		var w weight
		w.grams[0] = runtime.NumGoroutine()
		probe.Fire(provider.Error(err), provider.Stringer(level(runtime.NumGoroutine()+1000)), provider.Stringer(w),
			provider.As(w.grams, func(g [4]int) string { called++; return fmt.Sprint(g) }))
	}
	if n := testing.AllocsPerRun(1000, fire); n != 0 {
		t.Errorf("unwatched: %v allocations, want 0", n)
	}
	if called != 0 {
		t.Errorf("unwatched: %d calls of the conversion", called)
	}
	provider.Watch(p, 1)
	fire()
	if called != 1 {
		t.Errorf("watched: %d calls of the conversion, want 1", called)
	}
}

// kept has a method String that keeps what it is called on.
type kept struct{ n [8]int }

var keeps *kept

func (k *kept) String() string { keeps = k; return "kept" }

// TestTextEscapes checks that a value whose method keeps a pointer to it stays where
// it is when the stack moves.
func TestTextEscapes(t *testing.T) {
	p := newProvider("textescapes")
	probe := provider.NewProbe1[provider.Text](p, "one", "a")
	load(t, p)
	provider.Watch(p, 1)
	for range 2 {
		done := make(chan bool)
		go func() {
			defer close(done)
			var a, b kept
			probe.Fire(provider.Stringer(&a))
			keptA := keeps
			probe.Fire(provider.As(&b, (*kept).String))
			keptB := keeps
			grow(100)
			a.n[7], b.n[7] = 7, 8
			if keptA != &a || keptA.n[7] != 7 {
				t.Error("Stringer: the value has moved from what its method kept")
			}
			if keptB != &b || keptB.n[7] != 8 {
				t.Error("As: the value has moved from what its function kept")
			}
		}()
		<-done
	}
}

// TestTextMovesStack checks that Fire follows what a record points to, and what Texts
// are made of, when a conversion moves the stack.
func TestTextMovesStack(t *testing.T) {
	type record struct {
		Body        []byte
		First, Last provider.Text
	}
	p := newProvider("textmoves")
	rec := provider.NewStructProbe[record](p, "record")
	one := provider.NewProbe2[provider.Text, provider.Text](p, "two", "a", "b")
	load(t, p)
	provider.Watch(p, 1)
	deep := func(n [4]int) string { return fmt.Sprint(grow(n[0]), n) }
	for range 100 {
		done := make(chan bool)
		go func() {
			defer close(done)
			var body [8]byte
			n := [4]int{100, 2, 3, runtime.NumGoroutine()}
			n[3] = 4
			var got string
			last := func(n [4]int) string { got = fmt.Sprint(n); return got }
			rec.Fire(&record{Body: body[:], First: provider.As(n, deep), Last: provider.As(n, last)})
			one.Fire(provider.As(n, deep), provider.As(n, last))
			if got != "[100 2 3 4]" {
				t.Errorf("behind a moved stack the value is %s", got)
			}
		}()
		<-done
	}
}
