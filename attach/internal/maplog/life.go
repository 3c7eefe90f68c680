package maplog

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// file is what a process has mapped. Memory that is in no file has a path that does not begin
// with a slash, as in /proc/PID/maps, or two.
type file struct {
	path    string
	buildID string // in hexadecimal; empty if it has none

	device, inode, generation uint64 // of a file without one
}

// regular reports whether it may be a file that can be opened.
func (f *file) regular() bool {
	return strings.HasPrefix(f.path, "/") && !strings.HasPrefix(f.path, "//")
}

// mapping is a part of an address space.
type mapping struct {
	start, end, offset uint64
	file               file
	at                 uint64 // when it was mapped
}

// image is what a process has mapped from when it was forked or executed a file.
type image struct {
	whole  bool // nothing else was mapped then
	parent int  // the process whose mappings it also had then, if these are not known; 0 for none
	maps   []mapping
}

// life is what is known of a process, or of several that had the PID one after the other.
type life struct {
	pid     int
	images  []image // the last one is the present one
	changes uint64
}

const (
	// maxImages is how many images of a PID are kept: events of those before the last one may
	// still have to be read.
	maxImages = 4
	// maxMaps is how many mappings of an image are kept, the last ones.
	maxMaps = 4096
	// maxLives is how many PIDs are known: the ones that appeared last.
	maxLives = 1 << 14
	// maxKept is how many mappings are known of all processes.
	maxKept = 1 << 20
)

// size is how many mappings are known.
func (l *life) size() (n int) {
	for i := range l.images {
		n += len(l.images[i].maps)
	}
	return n
}

// begin adds an image.
func (l *life) begin(im image) {
	l.images = append(l.images, im)
	if n := len(l.images); n > maxImages {
		l.images = slices.Delete(l.images, 0, n-maxImages)
	}
}

// add adds a mapping to the present image.
func (l *life) add(m mapping) {
	if len(l.images) == 0 {
		l.images = []image{{}} // the process is older than the log
	}
	im := &l.images[len(l.images)-1]
	if len(im.maps) >= maxMaps {
		im.maps = slices.Clone(im.maps[maxMaps/4:])
	}
	im.maps = append(im.maps, m)
}

// child returns the image of a child that is forked.
func (l *life) child() image {
	im := l.images[len(l.images)-1]
	if im.parent == 0 && !im.whole {
		im.parent = l.pid
	}
	im.maps = slices.Clip(im.maps)
	return im
}

// regions returns mappings by address, without what others have taken the place of.
func regions(maps []mapping) []mapping {
	byStart := make([]int, len(maps))
	bounds := make([]uint64, 0, 2*len(maps))
	for i, m := range maps {
		byStart[i] = i
		bounds = append(bounds, m.start, m.end)
	}
	slices.SortFunc(byStart, func(a, b int) int { return cmp.Compare(maps[a].start, maps[b].start) })
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	var out []mapping
	here, last := newest{maps: maps}, -1
	for i, at := range bounds {
		for len(byStart) > 0 && maps[byStart[0]].start <= at {
			heap.Push(&here, byStart[0])
			byStart = byStart[1:]
		}
		for len(here.heap) > 0 && maps[here.heap[0]].end <= at {
			heap.Pop(&here)
		}
		switch {
		case len(here.heap) == 0:
			last = -1
		case here.heap[0] == last: // which goes on: the bound is that of an older one
			out[len(out)-1].end = bounds[i+1]
		default:
			last = here.heap[0]
			m := maps[last]
			m.offset += at - m.start
			m.start, m.end = at, bounds[i+1]
			out = append(out, m)
		}
	}
	return out
}

// newest is a heap of mappings, the one that was mapped last on top.
type newest struct {
	maps []mapping
	heap []int
}

func (h *newest) Len() int      { return len(h.heap) }
func (h *newest) Swap(i, j int) { h.heap[i], h.heap[j] = h.heap[j], h.heap[i] }
func (h *newest) Push(i any)    { h.heap = append(h.heap, i.(int)) }

func (h *newest) Less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	return cmp.Or(cmp.Compare(h.maps[a].at, h.maps[b].at), cmp.Compare(a, b)) > 0
}

func (h *newest) Pop() any {
	last := len(h.heap) - 1
	i := h.heap[last]
	h.heap = h.heap[:last]
	return i
}
