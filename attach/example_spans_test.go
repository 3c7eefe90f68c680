package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// Spans deliver events in their order, and beside each event the pairs whose end it is.
func ExampleOpenSpans() {
	kitchen := provider.New("kitchen", nil)
	start := provider.NewProbe1[string](kitchen, "start", "dish")
	stir := provider.NewProbe0(kitchen, "stir")
	done := provider.NewProbe1[string](kitchen, "done", "dish")
	if err := kitchen.Load(); err != nil {
		log.Fatal(err)
	}
	defer kitchen.Close()

	cooking := attach.Span{Start: "kitchen:start", End: "kitchen:done", Key: []string{"dish"}}
	s, err := attach.OpenSpans(context.Background(), []string{"kitchen:stir"},
		&attach.SpanOptions{Spans: []attach.Span{cooking}},
		&attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	start.Fire("soup")
	stir.Fire()
	start.Fire("cake")
	done.Fire("soup")
	s.Stop() // All ends after the events that have fired

	for at, err := range s.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(at.Event.Name, "for spans only:", at.Only)
		for _, pair := range at.Pairs {
			fmt.Println("  pair of span", pair.Span, "whose start is", pair.Start.Args[0].Value, "took time:", pair.Took > 0)
		}
	}
	fmt.Println("without an end:", s.Counts(0).Pending)
	// Output:
	// stir for spans only: false
	// done for spans only: true
	//   pair of span 0 whose start is soup took time: true
	// without an end: 1
}
