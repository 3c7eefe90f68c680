// Package returning has functions of Go that return, or do not, in every way, and counts how
// often they are called and how often they return.
package returning

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Count is how often a function was called, and how often it returned.
type Count struct{ Calls, Returns int64 }

type counter struct{ calls, returns atomic.Int64 }

// call counts a call, and the return unless it does not come back.
func (c *counter) call(f func()) {
	c.calls.Add(1)
	f()
	c.returns.Add(1)
}

var counters = map[string]*counter{}

func count(name string) *counter {
	c := &counter{}
	counters[name] = c
	return c
}

var (
	three    = count("Three")
	deep     = count("Deep")
	large    = count("Large")
	recovers = count("Recovers")
	through  = count("Through")
	exits    = count("Exits")
	method   = count("(*In).M")
	generic  = count("Generic[go.shape.int]")
	closure  = count("Closure.func1")
	text     = count("Text")
)

var escaped any

// Three has three return instructions, and returns what it is given.
//
//go:noinline
func Three(n int) int {
	switch n % 3 {
	case 0:
		return n
	case 1:
		escaped = n
		return escaped.(int)
	}
	return fixed(n+1) - 1
}

//go:noinline
func fixed(n int) int { return n + len(fmt.Sprint()) }

// Deep calls itself, and needs more stack than there is at first. It returns what it is given,
// sometimes in another thread.
//
//go:noinline
func Deep(n int) int {
	var room [512]byte
	room[n] = 1
	if n == 0 {
		runtime.Gosched()
		return 0
	}
	return Deep(n-1) + int(room[n])
}

// Large has a frame that needs more than the small check of the stack.
//
//go:noinline
func Large(n int) int {
	var room [40000]byte
	for i := range room {
		room[i] = byte(i)
	}
	return n + int(room[n%256]) - n%256
}

// Recovers recovers from its own panic.
//
//go:noinline
func Recovers(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = n
		}
	}()
	if n%2 == 0 {
		panic(n)
	}
	return n
}

// Through is left by each other panic.
//
//go:noinline
func Through(n int) int {
	if n%2 == 0 {
		panic(n)
	}
	return fixed(n)
}

// Exits ends each other goroutine.
//
//go:noinline
func Exits(n int) int {
	if n%2 == 0 {
		runtime.Goexit()
	}
	return fixed(n)
}

// In has a method, and Out passes calls of it on by a jump.
type In struct{ n int }

//go:noinline
func (i *In) M(a, b int) int { return i.n + a + b }

type Out struct {
	_ int
	*In
}

type caller interface{ M(a, b int) int }

//go:noinline
func callM(c caller, n int) int { return c.M(n, 1) }

//go:noinline
func Generic[T any](x T, n int) (T, error) {
	if n%7 == 0 {
		return x, errors.New("seven")
	}
	return x, nil
}

//go:noinline
func Text(n int) (text string, err error) {
	if n%10 == 0 {
		return "", errors.New("ten")
	}
	return strings.Repeat("x", n%10), nil
}

//go:noinline
func Closure(n int) func() int { return func() int { return fixed(n) } }

// Run calls all functions, and returns what became of the calls.
func Run() map[string]Count {
	for i := range 60 {
		three.call(func() { Three(i) })
		large.call(func() { Large(i) })
		recovers.call(func() { Recovers(i) })
		func() {
			defer func() { recover() }()
			through.call(func() { Through(i) })
		}()
		method.call(func() { callM(&Out{In: &In{2}}, i) })
		method.call(func() { callM(&In{2}, i) })
		generic.call(func() { Generic(i, i) })
		closure.call(func() { Closure(i)() })
		text.call(func() { escaped, _ = Text(i) })
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Add(2)
		go func() {
			defer all.Done()
			deep.calls.Add(int64(i))
			deep.call(func() { Deep(i) })
			deep.returns.Add(int64(i))
		}()
		go func() {
			defer all.Done()
			exits.call(func() { Exits(i) })
		}()
	}
	all.Wait()
	out := map[string]Count{}
	for name, c := range counters {
		out[name] = Count{c.calls.Swap(0), c.returns.Swap(0)}
	}
	return out
}

// String returns what Run does in one line.
func String(counts map[string]Count) string {
	var out []string
	for name, c := range counts {
		out = append(out, fmt.Sprintf("%s %d %d", name, c.Calls, c.Returns))
	}
	slices.Sort(out)
	return strings.Join(out, ";")
}

// Parse undoes String.
func Parse(s string) (map[string]Count, error) {
	out := map[string]Count{}
	for part := range strings.SplitSeq(s, ";") {
		var name string
		var c Count
		if _, err := fmt.Sscan(part, &name, &c.Calls, &c.Returns); err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		out[name] = c
	}
	return out, nil
}
