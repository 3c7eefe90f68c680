package profile_test

import (
	"fmt"
	"os"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/profile"
	"github.com/go-usdt/usdt/total"
)

// Groups that an aggregate has added up by stack, such as attach.Sum("bytes").By("stack", "comm").
func Example() {
	groups := []total.Group{
		{By: []event.Arg{{Name: "stack", Value: &event.Stack{}}, {Name: "comm", Value: "store"}}, Count: 3, Sum: uint64(4096)},
	}
	p := profile.Of(profile.Value{Type: "events", Unit: "count"}, profile.Value{Type: "bytes", Unit: "bytes"})
	for i := range groups {
		p.AddGroup(&groups[i])
	}
	if err := p.WriteFolded(os.Stdout); err != nil { // WritePprof is for go tool pprof
		fmt.Println(err)
	}
	// Output:
	// store;[unknown] 4096
}

// Events of a session with Options.Stack, and the sum of an argument of theirs.
func ExampleNew() {
	p := profile.New("took")
	p.Add(&event.Event{Comm: "store", Args: event.Struct{{Name: "took", Value: 3 * time.Second}}, Stack: &event.Stack{PCs: []uint64{1, 2}}})
	p.Add(&event.Event{Comm: "store"})
	fmt.Println(p.Left, "without the argument")
	if err := p.WriteFolded(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 without the argument
	// store;[unknown];[unknown] 3000000000
}

// Allocations that are not freed are in use. The events are those of OpenTelemetry's probes.
func ExampleNewHeap() {
	h, ok := profile.NewHeap("") // shows memory in use
	if !ok {
		fmt.Println("there is no such value")
	}
	for _, ev := range []event.Event{
		{PID: 1, Comm: "store", Provider: profile.HeapProvider, Name: "alloc", Args: args(uint64(0xa0), uint64(100))},
		{PID: 1, Comm: "store", Provider: profile.HeapProvider, Name: "alloc", Args: args(uint64(0xb0), uint64(50))},
		{PID: 1, Comm: "store", Provider: profile.HeapProvider, Name: "free", Args: args(uint64(0xa0))},
	} {
		h.Add(&ev)
	}
	if err := h.WriteFolded(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: store 50
}

// args are an address and, of allocations, a size.
func args(values ...any) (all event.Struct) {
	for _, v := range values {
		all = append(all, event.Arg{Value: v})
	}
	return all
}

// Two profiles of equal times, one before and one after a change.
func ExampleDiff() {
	measure := func(n int) *profile.Profile {
		p := profile.New("")
		for range n {
			p.Add(&event.Event{Comm: "store", Stack: &event.Stack{}})
		}
		return p
	}
	d := profile.Diff{Base: measure(2), Now: measure(5)}
	if err := d.WriteFolded(os.Stdout); err != nil { // WriteText is for people, WritePprof for go tool pprof
		fmt.Println(err)
	}
	// Output: store 2 5
}
