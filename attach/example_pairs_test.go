package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

func ExampleOpenPairs() {
	depot := provider.New("depot", nil)
	start := provider.NewProbe2[uint64, string](depot, "start", "id", "what")
	done := provider.NewProbe2[uint64, bool](depot, "done", "id", "found")
	if err := depot.Load(); err != nil {
		log.Fatal(err)
	}
	defer depot.Close()
	p, err := attach.OpenPairs(context.Background(), "depot:start", "depot:done",
		&attach.PairOptions{Key: []string{"id"}, Slower: 20 * time.Millisecond},
		&attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	start.Fire(1, "clock")
	start.Fire(2, "lamp")
	done.Fire(2, true)
	time.Sleep(30 * time.Millisecond)
	done.Fire(1, false)

	for pair, err := range p.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pair.Start.Args[1].Value, "found:", pair.End.Args[1].Value, "at least 30 ms:", pair.Took >= 30*time.Millisecond)
		break
	}
	// Output:
	// clock found: false at least 30 ms: true
}

// A pair is one object of JSON.
func ExamplePair_AppendJSON() {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pair := attach.Pair{
		Start: event.Event{Provider: "depot", Name: "start", PID: 7, TID: 8, Time: at},
		End:   event.Event{Provider: "depot", Name: "done", PID: 7, TID: 8, Time: at.Add(time.Second)},
		Took:  time.Second,
	}
	fmt.Println(string(pair.AppendJSON(nil)))
	// Output: {"latency":1000000000,"start":{"time":"2026-01-02T03:04:05.000000000Z","pid":7,"tid":8,"comm":"","provider":"depot","name":"start","args":{}},"end":{"time":"2026-01-02T03:04:06.000000000Z","pid":7,"tid":8,"comm":"","provider":"depot","name":"done","args":{}}}
}
