//go:build linux && (amd64 || arm64) && !race

package ring

// put writes a record: to the shard first if how has useOwned, else to one of the mask+1
// shards from first on, to the first one that nobody writes to, beginning with the one
// of a number. Closed means that they are gone.
//
// It is assembly code, in which the runtime does not preempt a goroutine, and during
// which its stack stays in place. So a shard is locked no longer than it takes to copy
// the record, unless the kernel preempts the thread.
//
//go:noescape
func put(first *shard, mask, how, number uint32, r *Record) Result

// mayOwn is [useOwned] where put is assembly code.
const mayOwn = useOwned

// increment adds one to a counter of the P on which the caller is pinned.
func increment(counter *uint64) uint64 {
	*counter++
	return *counter
}
