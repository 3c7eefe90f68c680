package app

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"example.com/cache"
	next "example.com/cache/v2"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

func TestMain(m *testing.M) {
	if err := provider.LoadAll(nil); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Println(err)
		os.Exit(1)
	}
	m.Run()
}

// TestBoth uses both versions in parallel tests, none of which gets events of another one.
func TestBoth(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rec := providertest.Record(t, provider.New("example_cache", nil))
			var wg sync.WaitGroup
			for n := range 100 {
				a, b := cache.New(), next.New[string]()
				wg.Go(func() { a.Get("one", n) })
				wg.Go(func() { b.Get("two", n) })
			}
			wg.Wait()
			of := map[any]int{}
			for _, ev := range rec.Own("get_done") {
				of[ev.Args[0].Value]++
			}
			if of["one"] != 100 || of["two"] != 100 || len(of) != 2 {
				t.Errorf("events %v, want 100 of each", of)
			}
			providertest.Check(t)
		})
	}
}
