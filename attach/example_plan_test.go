package attach_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// Find lists what Open would attach to, and what it would decide about each site.
// It attaches nothing and needs no privilege.
func ExampleFind() {
	store := provider.New("store", nil)
	provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	plan, err := attach.Find(context.Background(), []string{"store:*"}, &attach.FindOptions{
		Target: attach.Target{PIDs: []int{os.Getpid()}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, site := range plan {
		fmt.Println(site.Probe.Provider, site.Probe.Name, "refused:", site.Reason != nil)
	}
	// Output: store order refused: false
}

// Validate checks options from users before anything is looked for. The error
// says which option is wrong and, of a condition, at which column.
func ExampleOptions_Validate() {
	err := (&attach.Options{Where: "status >= "}).Validate()
	var option *attach.OptionError
	var where *attach.WhereError
	if errors.As(err, &option) && errors.As(err, &where) {
		fmt.Printf("%s: column %d: %s\n", option.Option, where.Column, where.Msg)
	}
	// Output: Where: column 11: want a constant after >=
}

// The plan lists refused and left-out sites with their reasons.
func ExampleSession_Plan() {
	store := provider.New("store", nil)
	order := provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	provider.NewProbe1[string](store, "visit", "customer")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	s, err := attach.Open(context.Background(), []string{"store:*"}, &attach.Options{
		Target: attach.Target{PIDs: []int{os.Getpid()}},
		Where:  "items > 1",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, site := range s.Plan() {
		if site.Reason != nil {
			fmt.Println(site.Probe.Name, "is left out:", site.Reason)
			continue
		}
		fmt.Println(site.Probe.Name, "is attached:", site.Attached)
	}
	fmt.Println("order is watched:", order.Enabled())
	// Output:
	// order is attached: true
	// visit is left out: condition "items > 1", column 1: store:visit has no argument items: it has customer, pid, tid, comm, cpu, uid, cgroup, container, pod
	// order is watched: true
}

// Tracing begins before the traced program declares its probes.
func ExampleOpen_await() {
	store := provider.New("store", nil)
	order := provider.NewProbe2[uint32, string](store, "order", "items", "customer")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := attach.Open(ctx, []string{"store:order"}, &attach.Options{
		Target: attach.Target{PIDs: []int{os.Getpid()}},
		Rescan: 10 * time.Millisecond,
		Await:  true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	for !order.Enabled() && ctx.Err() == nil {
		if err := s.Rescan(); err != nil { // now, not after the interval
			log.Fatal(err)
		}
	}
	order.Fire(2, "Ada")
	for ev, err := range s.Events() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Name, ev.Args[0].Value, ev.Args[1].Value)
		break
	}
	// Output: order 2 Ada
}
