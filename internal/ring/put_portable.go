//go:build !linux || (!amd64 && !arm64) || race

package ring

import "sync/atomic"

// put writes a record. The race detector does not see what assembly code does.
func put(first *shard, mask, how, number uint32, r *Record) Result {
	return putPortably(first, mask, how, number, r)
}

// mayOwn is 0: the race detector does not know that nobody else runs on a P.
const mayOwn = 0

// increment adds one to a counter.
func increment(counter *uint64) uint64 { return atomic.AddUint64(counter, 1) }
