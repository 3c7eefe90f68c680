package attach_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/symbols"
)

// TestByStackShared checks that sessions which share a resolver name code by it, and leave it to its
// owner, and that recorded stacks have a buffer of the size that was asked for.
func TestByStackShared(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
	before := leftover.Descriptors(t)
	r := symbols.NewResolver(nil)
	p := start(t, exec.Command(path, "at once"))
	o := &attach.Options{Stack: 2, Unwind: true, Resolver: r, Target: attach.Target{PIDs: []int{p.PID()}}}
	const size = 1 << 20
	by := attach.Count().By("stack").RingSize(size)
	gone, stays := openAggregate(t, []string{"stacked:hit"}, by, o), openAggregate(t, []string{"stacked:hit"}, by, o)
	if n := ringsOf(t, size); n != 2 {
		t.Errorf("%d buffers of %d bytes, want 2", n, size)
	}
	if err := gone.Close(); err != nil {
		t.Error(err)
	}
	p.Send("")
	if p.Rest(); p.End() != nil {
		t.Fatal("the program failed")
	}
	if d := cmp.Diff(map[string]uint64{"leaf middle": 2}, byStack(t, readGroups(t, stays))); d != "" {
		t.Errorf("by stack (-want +got):\n%s", d)
	}
	if err := stays.Close(); err != nil {
		t.Error(err)
	}
	if n := leftover.Descriptors(t); n <= before {
		t.Errorf("%d descriptors, %d before: the resolver has no file any more", n, before)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	leftover.Back(t, before)
}

// ringsOf returns how many ring buffers of a size this process has.
func ringsOf(t *testing.T, size int) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // one may have been closed
		// BPF_MAP_TYPE_RINGBUF is 27: linux/bpf.h.
		if m := regexp.MustCompile(`(?s)map_type:\s27\n.*max_entries:\s(\d+)\n`).FindSubmatch(text); m != nil && string(m[1]) == strconv.Itoa(size) {
			n++
		}
	}
	return n
}
