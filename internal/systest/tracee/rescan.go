package tracee

import (
	"testing"
	"time"
)

// RescanEvery returns d, or ten times d in an emulated machine, whose processor
// would do nothing but rescan.
func RescanEvery(d time.Duration) time.Duration {
	if testing.Short() {
		return 10 * d
	}
	return d
}
