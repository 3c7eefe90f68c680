package provider

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/internal/greet"
)

// tracerTime is how long a program waits for its tracer, all in all.
const tracerTime = 2 * time.Second

// tracerGone says that the tracer has not answered, and is not asked again.
var tracerGone atomic.Bool

// awaitTracer lets the tracer that has started this program, if one has, attach
// to probes that have just been loaded.
func awaitTracer() {
	address := os.Getenv(greet.Variable)
	if address == "" || privileged() || tracerGone.Load() {
		return
	}
	// That there is no tracer is no error of the program's.
	if greet.Wait(address, tracerTime) != nil {
		tracerGone.Store(true)
	}
}
