package provider

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/internal/await"
	"github.com/go-usdt/usdt/internal/sys"
)

// tracerTime is the longest time that a program waits for its tracer, in all. A tracer on a
// busy machine may need seconds, and who has it start a program wants all events; one that
// has ended is not waited for.
var tracerTime = 10 * time.Second

// tracerGone records that the tracer has not answered; it is not asked again.
var tracerGone atomic.Bool

// tracerWaits reports whether a tracer has started this program, and answers.
func tracerWaits() bool {
	return os.Getenv(await.Variable) != "" && !sys.Privileged() && !tracerGone.Load()
}

// awaitTracer waits for the tracer that has started this program, if one has, to
// attach to probes that have just been loaded.
func awaitTracer() {
	// A missing tracer is no error of the program.
	if tracerWaits() && await.Tracer(os.Getenv(await.Variable), tracerTime) != nil {
		tracerGone.Store(true)
	}
}
