package breakpoint

import (
	"slices"
	"sync"
	"time"
)

// watch waits until processes that were stopped go on, by whoever lets them.
type watch struct {
	ended   chan struct{}
	waiting sync.WaitGroup
}

// lookEvery is how often processes that stand still are looked at.
const lookEvery = 50 * time.Millisecond

// start calls then when none of the processes stands still any more.
func (w *watch) start(pids []int, then func() error) {
	w.ended = make(chan struct{})
	w.waiting.Go(func() {
		for ; slices.ContainsFunc(pids, standsStill); time.Sleep(lookEvery) {
			select {
			case <-w.ended:
				return
			default:
			}
		}
		then() // whoever closes the session gets its error
	})
}

// end ends the waiting.
func (w *watch) end() {
	if w.ended != nil {
		close(w.ended)
		w.waiting.Wait()
		w.ended = nil
	}
}
