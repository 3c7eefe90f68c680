package attach_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestThousand checks that a thousand sessions leave nothing: neither here, nor in the kernel, nor in
// what they trace. In a process of its own [leftover.Run] also names what is mapped.
func TestThousand(t *testing.T) {
	needs.Root(t)
	if cmd := tracee.Again(t); cmd != nil {
		t.Log(tracee.Pass(t, cmd))
		return
	}
	p := start(t, exec.Command(compile(t, "gcc", "-O2", "-DSEMAPHORES")))
	all, together := 1000, 100
	if testing.Short() { // in an emulated machine
		all, together = 150, 50
	}
	objects := bpfObjects{}
	turn := func(n int) {
		sessions := make([]attach.Tracer, n)
		var eg errgroup.Group
		eg.SetLimit(runtime.NumCPU())
		for i := range sessions {
			eg.Go(func() (err error) {
				sessions[i], err = openOne(t, i, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaKernel}})
				return err
			})
		}
		if err := eg.Wait(); err != nil {
			t.Fatal(err)
		}
		objects.note(t)
		p.Do("")
		if err := attach.CloseAll(sessions...); err != nil {
			t.Error(err)
		}
		for i, s := range sessions {
			if st, err := s.Stats(); err != nil || st.Fired == 0 {
				t.Fatalf("session %d: %+v, %v; want events", i, st, err)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	turn(6) // opens what the runtime and packages keep
	goroutines, descriptors := runtime.NumGoroutine(), leftover.Descriptors(t)
	for n := 0; n < all; n += together {
		turn(together)
	}
	if seen := len(objects); seen < all {
		t.Fatalf("%d objects of BPF for %d sessions", seen, all)
	}
	var left []string
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		left = objects.left()
		if n := runtime.NumGoroutine(); n > goroutines {
			left = append(left, fmt.Sprintf("%d goroutines, %d before", n, goroutines))
		}
		if n := leftover.Descriptors(t); n > descriptors {
			left = append(left, fmt.Sprintf("%d descriptors, %d before", n, descriptors))
		}
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	if len(left) > 0 {
		t.Errorf("%d sessions leave behind:\n%s", all, strings.Join(left, "\n"))
	}
	for _, name := range []string{"ints", "memory", "floats", "bare"} {
		live.Check(t, p.PID(), "args:"+name, 0x90, 0)
	}
}

// openOne opens a session of one of three kinds.
func openOne(t *testing.T, i int, o *attach.Options) (attach.Tracer, error) {
	switch i % 3 {
	case 0:
		o.Stack = i % 2 * 8
		return attach.OpenEvents(t.Context(), []string{"args:bare"}, &attach.EventOptions{RingSize: 4096}, o)
	case 1:
		return attach.OpenAggregate(t.Context(), []string{"args:memory"}, attach.Count().By("tid"), o)
	}
	return attach.OpenPairs(t.Context(), "args:ints", "args:floats", &attach.PairOptions{RingSize: 4096}, o)
}

// bpfObjects are programs, maps and links, once held here, by what fdinfo calls their ID.
type bpfObjects map[string]bool

// note adds what this process holds.
func (o bpfObjects) note(t *testing.T) {
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range infos {
		info, _ := os.ReadFile(name) // of a directory that was read, it is gone
		for line := range strings.Lines(string(info)) {
			if kind, id, _ := strings.Cut(strings.TrimSpace(line), ":"); kind == "prog_id" || kind == "map_id" || kind == "link_id" {
				o[kind+" "+strings.TrimSpace(id)] = true
			}
		}
	}
}

// left returns what the kernel still has.
func (o bpfObjects) left() (left []string) {
	for object := range o {
		var kind string
		var id uint32
		fmt.Sscan(object, &kind, &id)
		var held io.Closer
		var err error
		switch kind {
		case "prog_id":
			held, err = ebpf.NewProgramFromID(ebpf.ProgramID(id))
		case "map_id":
			held, err = ebpf.NewMapFromID(ebpf.MapID(id))
		default:
			held, err = link.NewFromID(link.ID(id))
		}
		if err == nil {
			held.Close()
		}
		if errors.Is(err, os.ErrNotExist) {
			delete(o, object)
			continue
		}
		left = append(left, object)
	}
	return left
}
