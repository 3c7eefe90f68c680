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
