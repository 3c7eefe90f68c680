package session

import (
	"runtime"
	"time"

	"github.com/go-usdt/usdt/internal/sys"
)

// paceShare is the part of the time that what is done at a [Pace] takes at most, 1 / paceShare.
const paceShare = 50

// Pace is how often something is done that may take long, such as a read of all starts that wait.
type Pace struct {
	Every time.Duration        // how often at most
	Clock func() time.Duration // the processor time of a thread; nil for that of this one

	left int // times that are left out
}

// Do does it, unless it took so much processor time before that this time is left out.
func (p *Pace) Do(do func() error) error {
	if p.left > 0 {
		p.left--
		return nil
	}
	clock := p.Clock
	if clock == nil {
		clock = sys.ThreadTime
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := clock()
	err := do()
	p.left = int(paceShare * (clock() - before) / p.Every)
	return err
}
