package ring

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

var order = binary.LittleEndian

// The bytes of a data file; FORMAT.md describes them.
const (
	magic   = "usdtring"
	version = 1

	headerSize = 4096 // of the file, behind which counters of Ps and the shards' headers follow

	atVersion    = 8
	atShards     = 12
	atSize       = 16
	atAreas      = 24
	atClock      = 32
	atMode       = 36
	atPID        = 40
	atComm       = 48
	atCounters   = headerSize
	countersOfPs = 64 // counters, of Ps that leave events out
	atShard      = atCounters + countersOfPs*line
	shardStride  = 128 // a line for the goroutine that writes, and one for all
	atHead       = 0
	atRecords    = 8
	atFull       = 16
	atFiltered   = 64
	atContended  = 72
	atLarge      = 80
	line         = 64 // bytes between counters, or positions in the control file
	recordHeader = 16

	// A recorder's file.
	recorderMode = 1
	atBegun      = 64 // the wall clock's and the ring's time when it was begun
	partSize     = 16 << 10
	partHeader   = 32
	objectMagic  = "usdtobjs"
	objectHeader = 32
)

// Flags of a record's site.
const (
	hasFailures = 1 << 31
	slotsShift  = 29 // two bits: the number of slots
	siteMask    = 1<<slotsShift - 1
	padding     = 1<<32 - 1

	// MaxSlots is the largest number of a record's slots.
	MaxSlots = 2
	// MaxSite is the largest number of a site.
	MaxSite = siteMask - 1
)

// MaxRecord is the largest size of a record in bytes.
const MaxRecord = 256 << 10

// MaxObjects is the largest number of bytes of objects in a recorder's file: a program
// that closes and loads again and again does not fill the disk.
const MaxObjects = 64 << 20

// Limits on a ring's memory.
const (
	MaxShards = 1024
	MinSize   = 64 << 10 // of a shard
	MaxSize   = 64 << 20
	MaxTotal  = 1 << 30
)

// Clock is what counts the time of records.
type Clock uint32

const (
	// Monotonic is CLOCK_MONOTONIC in nanoseconds, as the process that fires reads it.
	Monotonic Clock = 1
	// Counter is the counter of the CPU: TSC, or CNTVCT_EL0 of arm64.
	Counter Clock = 2
)

// Geometry is the number of shards and the size of each in bytes, powers of two.
type Geometry struct{ Shards, Size int }

// GeometryFor returns the geometry of a ring of about total bytes into which
// goroutines on procs CPUs write. It has two shards for each CPU, so that a goroutine
// that the kernel preempts while it writes takes a shard away from nobody.
//
//go:noinline
func GeometryFor(total, procs int) Geometry {
	g := Geometry{Shards: min(ceil(2*max(procs, 1)), MaxShards)}
	g.Size = min(max(floor(total/g.Shards), MinSize), MaxSize, MaxTotal/g.Shards)
	return g
}

// ceil returns the smallest power of two ≥ n, floor the largest one ≤ n, for n > 0.
func ceil(n int) int  { return 1 << bits.Len(uint(n-1)) }
func floor(n int) int { return 1 << (bits.Len(uint(max(n, 1))) - 1) }

// areas returns where the first shard's records are in the data file. Pages have up
// to 64 KiB.
func (g Geometry) areas() int { return (atShard + g.Shards*shardStride + 1<<16 - 1) &^ (1<<16 - 1) }

// dataSize and controlSize return the sizes of the two files.
func (g Geometry) dataSize() int    { return g.areas() + g.Shards*g.Size }
func (g Geometry) controlSize() int { return (g.Shards*line + 1<<16 - 1) &^ (1<<16 - 1) }

// check returns why no ring has the geometry.
func (g Geometry) check() error {
	power := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	if !power(g.Shards) || g.Shards > MaxShards || !power(g.Size) || g.Size < MinSize || g.Size > MaxTotal/g.Shards {
		return fmt.Errorf("%d shards of %d bytes are not up to %d powers of two of %d to %d bytes in all", g.Shards, g.Size, MaxShards, MinSize, MaxTotal)
	}
	return nil
}

// pad returns the bytes that n bytes take in a shard.
func pad(n int) int { return (n + 7) &^ 7 }
