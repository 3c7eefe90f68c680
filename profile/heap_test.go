package profile

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/go-usdt/usdt/event"
)

// heapEvent is an event of a process with a stack of so many calls.
func heapEvent(pid int, name string, calls int, args ...any) *event.Event {
	ev := &event.Event{PID: pid, Comm: "c", Provider: HeapProvider, Name: name, Stack: &event.Stack{PCs: make([]uint64, calls)}}
	for _, v := range args {
		ev.Args = append(ev.Args, event.Arg{Value: v})
	}
	return ev
}

// TestHeap checks what allocations and frees add up to, by stack and process, weighted or not,
// of memory that is given out again, and of what cannot be matched.
func TestHeap(t *testing.T) {
	h, ok := NewHeap("")
	if _, unknown := NewHeap("alloc_spaces"); !ok || unknown {
		t.Fatal("alloc_spaces is a value, or nothing is none")
	}
	h.most = 4
	for _, ev := range []*event.Event{
		heapEvent(1, "alloc", 1, uint64(0xa0), uint64(100), uint64(1000)),
		heapEvent(1, "alloc", 1, uint64(0xb0), uint64(50), uint64(50)),
		heapEvent(2, "alloc", 1, uint64(0xa0), int64(7)), // another process, and no weight
		heapEvent(1, "free", 2, uint64(0xa0)),
		heapEvent(1, "free", 2, uint64(0xa0)), // twice
		heapEvent(2, "free", 2, uint64(0xb0)), // not its own
		heapEvent(1, "alloc", 3, uint64(0xb0), uint64(8), uint64(8)),
		heapEvent(1, "alloc", 3, uint64(0xc0), uint64(8), uint64(4)), // stands for less than itself
		heapEvent(1, "alloc", 3, uint64(0xd0), uint64(8), uint64(8)),
		heapEvent(1, "alloc", 3, uint64(0xe0), uint64(8), uint64(8)), // one too many
		heapEvent(1, "alloc", 3, uint64(0xf0)),
		heapEvent(1, "alloc", 3, "text", uint64(1)),
		heapEvent(1, "mmap", 3, uint64(0xf0), uint64(1)),
	} {
		h.Add(ev)
	}
	if h.Unknown != 2 || h.Untracked != 1 || h.Left != 3 {
		t.Errorf("%d frees without an allocation, %d not followed, %d left out, want 2, 1 and 3", h.Unknown, h.Untracked, h.Left)
	}
	var out bytes.Buffer
	if err := h.WritePprof(&out); err != nil {
		t.Fatal(err)
	}
	read, err := pprof.Parse(&out)
	if err == nil {
		err = read.CheckValid()
	}
	if err != nil {
		t.Fatal(err)
	}
	var types, got []string
	for _, v := range read.SampleType {
		types = append(types, v.Type+"/"+v.Unit)
	}
	if d := cmp.Diff([]string{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"}, types); d != "" || read.DefaultSampleType != "inuse_space" {
		t.Errorf("shown is %s of (-want +got):\n%s", read.DefaultSampleType, d)
	}
	for _, s := range read.Sample {
		got = append(got, fmt.Sprintf("%v of %d calls %v", s.Value, len(s.Location), s.NumLabel["pid"]))
	}
	want := []string{"[11 1050 0 0] of 1 calls [1]", "[4 28 3 20] of 3 calls [1]", "[1 7 1 7] of 1 calls [2]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("samples (-want +got):\n%s", d)
	}
}
