//go:build linux

package provider_test

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/provider"
)

// memfds returns the number of open descriptors of a provider's objects.
func memfds(t *testing.T, name string) int {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range fds {
		if target, _ := os.Readlink(fd); strings.HasPrefix(target, "/memfd:usdt:"+name+" ") {
			n++
		}
	}
	return n
}

// TestForgottenProvider checks that tracers still find probes whose provider the
// program has forgotten: the object's descriptor stays open.
func TestForgottenProvider(t *testing.T) {
	probe := func() *provider.Probe0 {
		p := newProvider("forgotten")
		probe := provider.NewProbe0(p, "nobodys")
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		return probe
	}()
	for range 3 {
		runtime.GC()
		runtime.Gosched()
	}
	if n := memfds(t, "forgotten"); n != 1 {
		t.Errorf("%d descriptors are open, want 1", n)
	}
	probe.Fire()
	if err := provider.CloseObjects("nobodys"); err != nil {
		t.Error(err)
	}
	if n := memfds(t, "forgotten"); n != 0 && *loader == "map" {
		t.Errorf("%d descriptors are open after Close", n)
	}
}

// TestShrinkingStacks fires while the garbage collector shrinks stacks, and checks
// that addresses in the frame follow. The race detector's own checks may not come
// between.
func TestShrinkingStacks(t *testing.T) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var wrong atomic.Int64
	for range 4 {
		wg.Go(func() {
			for end := time.Now().Add(time.Second); time.Now().Before(end); {
				grow(20) // so that there is something to shrink
				for range 2000 {
					wrong.Add(int64(provider.StaleAddresses("text on the stack")))
				}
			}
		})
	}
	time.AfterFunc(time.Second, func() { close(stop) })
	wg.Wait()
	if n := wrong.Load(); n != 0 {
		t.Errorf("%d addresses in frames lead elsewhere", n)
	}
}

//go:noinline
func grow(depth int) byte {
	var pad [1024]byte
	if depth > 0 {
		pad[depth] = grow(depth - 1)
	}
	return pad[depth]
}

// TestPanicInFire checks that a string that cannot be read costs that Fire and
// nothing else: Close does not wait for it.
func TestPanicInFire(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	p := newProvider("panics")
	probe := provider.NewProbe1[string](p, "a", "text")
	load(t, p)
	provider.Watch(p, 1)
	func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if recover() == nil {
				t.Error("reading beyond the file's end did not panic")
			}
		}()
		probe.Fire(unsafe.String(&mem[0], 100))
	}()
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("Close waits for a Fire that has panicked")
	}
}
