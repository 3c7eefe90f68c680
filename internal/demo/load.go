package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Load requests items from the service at url with some clients until ctx is done, a
// few hundred requests a second. It returns the number of answers.
func Load(ctx context.Context, url string) int {
	const clients, pause = 4, 10 * time.Millisecond
	var wg sync.WaitGroup
	counts := make([]int, clients)
	for c := range clients {
		wg.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				path := fmt.Sprintf("/item/%s", items[i*7%len(items)])
				if i%29 == 0 {
					path = "/no/such/page"
				}
				if get(ctx, url+path) == nil {
					counts[c]++
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

var items = []string{"lamp", "chair", "table", "clock", "mirror", "carpet", "vase", "shelf", "stool", "candle", "pillow"}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
