package demo

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// shop answers GET /item/NAME, slowly when the item is not in its cache.
type shop struct {
	probes  *provider.Provider
	start   *provider.Probe3[uint64, string, string]
	lookup  *provider.Probe2[string, bool]
	done    *provider.Probe4[uint64, string, int, float64]
	request atomic.Uint64

	mu    sync.Mutex
	cache map[string]time.Time // when the item was put there
}

// cached is the time for which an item stays in the cache.
const cached = 100 * time.Millisecond

func newShop() *shop {
	p := provider.New("shop", nil)
	return &shop{
		probes: p,
		start:  provider.NewProbe3[uint64, string, string](p, "request_start", "id", "method", "path"),
		lookup: provider.NewProbe2[string, bool](p, "cache_lookup", "key", "hit"),
		done:   provider.NewProbe4[uint64, string, int, float64](p, "request_done", "id", "path", "status", "ms"),
		cache:  map[string]time.Time{},
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := s.request.Add(1)
	s.start.Fire(id, r.Method, r.URL.Path)
	begin := time.Now()
	status := http.StatusOK
	if name, ok := itemName(r.URL.Path); ok {
		if !s.lookUp(name) {
			render(name)
			s.put(name)
		}
		fmt.Fprintf(w, "here is your %s\n", name)
	} else {
		status = http.StatusNotFound
		http.NotFound(w, r)
	}
	s.done.Fire(id, r.URL.Path, status, float64(time.Since(begin).Microseconds())/1e3)
}

func itemName(path string) (string, bool) {
	const prefix = "/item/"
	if len(path) <= len(prefix) || path[:len(prefix)] != prefix {
		return "", false
	}
	return path[len(prefix):], true
}

func (s *shop) lookUp(name string) bool {
	s.mu.Lock()
	put, ok := s.cache[name]
	s.mu.Unlock()
	hit := ok && time.Since(put) < cached
	s.lookup.Fire(name, hit)
	return hit
}

func (s *shop) put(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache[name] = time.Now()
}

// render stands for the work of making a page: some milliseconds, depending on the
// item.
func render(name string) {
	h := fnv.New32a()
	h.Write([]byte(name))
	time.Sleep(time.Duration(1+h.Sum32()%12) * time.Millisecond)
}
