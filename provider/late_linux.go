package provider

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// loadsEarly reports whether the environment asks for the probes of a program that may not
// load them itself.
func loadsEarly() bool {
	v := os.Getenv("USDT_LOAD")
	return v != "" && v != "0" && !sys.Privileged()
}

const (
	// lateDelay is the time in milliseconds for which declarations are gathered.
	lateDelay = 3
	// maxDelay bounds it where it grows.
	maxDelay = 60_000
	// manyObjects is the number of objects of a provider from which on late declarations
	// wait longer, so that there are few: a tracer that watches each keeps them from being
	// merged.
	manyObjects = 64
)

// mustPublish reports whether publishLate is to be called for what has been declared, once
// the provider, which is live, is unlocked.
func (p *Provider) mustPublish() bool {
	due := p.due
	p.due = true
	return !due || tracerWaits() && len(p.objects) < manyObjects
}

// publishLate publishes what has been declared since Load. If a tracer waits, that happens
// before it returns, else soon, by an object for all that is declared until then.
func (p *Provider) publishLate() {
	p.mu.Lock()
	objects := len(p.objects)
	p.mu.Unlock()
	if tracerWaits() && objects < manyObjects {
		p.publishAfter(0)
		return
	}
	delay := lateDelay
	for ; objects > manyObjects && delay < maxDelay; objects -= 4 {
		delay *= 2
	}
	go p.publishAfter(delay)
}

// publishAfter publishes what is pending after a delay in milliseconds, unless the provider
// has been closed or loaded meanwhile. Probes that cannot be loaded stay pending: the next Load
// reports why. Where nothing is pending, objects stay: a tracer may be about to attach.
func (p *Provider) publishAfter(delay int) {
	// Package time has another time in a bubble of testing/synctest, where this goroutine
	// may be, while others declare outside of it.
	unix.Poll(nil, delay)
	p.life.Lock()
	p.mu.Lock()
	p.due = false
	live := p.live && p.err == nil
	if live && len(p.pending) > 0 {
		p.publish(false)
	}
	p.mu.Unlock()
	p.life.Unlock()
	if live { // another goroutine may have published what this one declared, and still wait
		awaitTracer()
	}
}
