package profile

import (
	"math"

	"github.com/go-usdt/usdt/event"
)

// HeapProvider is the provider of the probes that Heap adds up, as OpenTelemetry's eBPF
// profiler describes them: alloc with the memory, its size and how many bytes of all it stands
// for, and free with the memory.
const HeapProvider = "otel_memory"

// Heap is a profile of allocations and of memory that is in use, with the values of Go's heap
// profiles.
type Heap struct {
	*Profile
	live map[memory]allocation
	most int // of live

	// Unknown is the number of frees of memory that was allocated before; Untracked that of
	// allocations that were too many to be followed until they are freed, and do not count
	// as in use.
	Unknown, Untracked uint64
}

// memory is a piece of it.
type memory struct {
	pid     int
	address uint64
}

// allocation is what a piece counts for as long as it is in use.
type allocation struct {
	sample         *sample
	objects, bytes int64
}

// maxLive is how many allocations are followed until they are freed.
const maxLive = 1 << 20

// heapValues are the values of Go's heap profiles (runtime/pprof/protomem.go).
var heapValues = []Value{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}}

// places in heapValues
const (
	allocObjects = iota
	allocSpace
	inuseObjects
	inuseSpace
)

// NewHeap returns an empty profile, of which a value is shown first: that of memory in use if
// the name is empty. It reports whether there is such a value.
func NewHeap(shown string) (h *Heap, ok bool) {
	h = &Heap{Profile: Of(append([]Value(nil), heapValues...)...), live: map[memory]allocation{}, most: maxLive}
	for i, v := range heapValues {
		if v.Type == shown {
			h.shown, ok = i, true
		}
	}
	return h, ok || shown == ""
}

// Add adds an event. One of another probe is left out, and counted.
func (h *Heap) Add(ev *event.Event) {
	var args [3]uint64
	n := 0
	for n < min(len(args), len(ev.Args)) {
		v, ok := h.word(ev.Args[n].Value)
		if !ok {
			break
		}
		args[n] = v
		n++
	}
	at := memory{ev.PID, args[0]}
	switch {
	case ev.Name == "alloc" && n >= 2:
		weight := args[1]
		if n == 3 {
			weight = args[2]
		}
		h.alloc(ev, at, args[1], weight)
	case ev.Name == "free" && n >= 1:
		if !h.free(at) {
			h.Unknown++
		}
	default:
		h.Left++
	}
}

// word returns an integer.
func (h *Heap) word(value any) (uint64, bool) {
	switch v := value.(type) {
	case uint64:
		return v, true
	case int64:
		return uint64(v), true
	}
	return 0, false
}

// alloc counts an allocation of size bytes, which stands for weight bytes in as many objects as
// have this size.
func (h *Heap) alloc(ev *event.Event, at memory, size, weight uint64) {
	bytes, objects := int64(min(weight, math.MaxInt64)), int64(1)
	if size > 0 && weight > size {
		objects = int64(math.Round(float64(weight) / float64(size)))
	}
	h.free(at) // it has been, unseen
	s := h.sampleOf(ev)
	if at.address == 0 || len(h.live) >= h.most {
		h.add(s, objects, bytes)
		h.Untracked++
		return
	}
	h.live[at] = allocation{h.add(s, objects, bytes, objects, bytes), objects, bytes}
}

// free counts memory as not in use any more, and reports whether it was.
func (h *Heap) free(at memory) bool {
	a, ok := h.live[at]
	if ok {
		a.sample.values[inuseObjects] -= a.objects
		a.sample.values[inuseSpace] -= a.bytes
		delete(h.live, at)
	}
	return ok
}
