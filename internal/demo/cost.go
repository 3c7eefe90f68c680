package demo

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// Cost is the measured cost of a probe of three arguments.
type Cost struct {
	Watched bool    // whether somebody watched the probe meanwhile
	Nanos   float64 // for one Fire, without the loop around it
}

// meter measures a probe of its own provider, "cost", so that tracing the shop does
// not count it.
type meter struct {
	probes *provider.Provider
	probe  *provider.Probe3[uint64, string, float64]
}

func newMeter() *meter {
	p := provider.New("cost", nil)
	return &meter{probes: p, probe: provider.NewProbe3[uint64, string, float64](p, "fire", "i", "text", "x")}
}

// ServeHTTP answers with the Cost of firing ?n= times, at most ten million.
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.FormValue("n"))
	if err != nil || n < 1 || n > 10_000_000 {
		http.Error(w, "n must be a number from 1 to 10000000", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(m.measure(n))
}

// measure returns the best of three rounds, minus the time of an empty loop.
func (m *meter) measure(n int) Cost {
	c := Cost{Watched: m.probe.Enabled()}
	best := func(loop func()) time.Duration {
		least := time.Duration(1<<63 - 1)
		for range 3 {
			begin := time.Now()
			loop()
			least = min(least, time.Since(begin))
		}
		return least
	}
	empty := best(func() {
		for i := range n {
			runtime.KeepAlive(i)
		}
	})
	fired := best(func() {
		for i := range n {
			m.probe.Fire(uint64(i), "sixteen bytes ok", 0.5)
		}
	})
	c.Nanos = max(0, float64(fired-empty)/float64(n))
	return c
}
