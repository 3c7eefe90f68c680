package usdtreceiver

import (
	"sync"
	"time"
)

// allowance is a share of processor time that may be taken on average.
type allowance struct {
	mu      sync.Mutex
	percent float64 // 0 means any
	left    float64 // in percent of a second; less than nothing is a debt
	at      time.Time
}

func newAllowance(percent float64) *allowance { return &allowance{percent: percent, at: time.Now()} }

// saved is for how long an allowance that is not used is saved up.
const saved = 10 * time.Second

// earnLocked adds what was allowed since the last time.
func (a *allowance) earnLocked(now time.Time) {
	a.left = min(a.left+a.percent*now.Sub(a.at).Seconds(), a.percent*saved.Seconds())
	a.at = now
}

// spend takes off what was used, in percent of a second, and reports whether that was too much.
func (a *allowance) spend(now time.Time, used float64) (tooMuch bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.earnLocked(now)
	a.left -= used
	return a.percent > 0 && a.left < 0
}

// indebted reports whether more was used than is allowed so far.
func (a *allowance) indebted(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.earnLocked(now)
	return a.percent > 0 && a.left < 0
}
