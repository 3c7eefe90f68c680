package usdtreceiver

import (
	"sync"
	"time"
)

// batch collects what is handed on together. While a full batch waits for the pipeline, add waits.
type batch[T any] struct {
	size int
	give func([]T)
	stop chan struct{}
	done sync.WaitGroup

	mu  sync.Mutex
	all []T
}

func newBatch[T any](size int, give func([]T)) *batch[T] {
	b := &batch[T]{size: size, give: give, stop: make(chan struct{})}
	b.done.Go(func() {
		tick := time.NewTicker(batchTime)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.flush()
			case <-b.stop:
				return
			}
		}
	})
	return b
}

func (b *batch[T]) add(one T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all = append(b.all, one); len(b.all) >= b.size {
		b.handOn()
	}
}

func (b *batch[T]) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handOn()
}

func (b *batch[T]) handOn() {
	if len(b.all) > 0 {
		b.give(b.all)
		b.all = nil
	}
}

// close hands on what is left.
func (b *batch[T]) close() {
	close(b.stop)
	b.done.Wait()
	b.flush()
}
