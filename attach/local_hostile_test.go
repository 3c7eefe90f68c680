package attach_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["localhostile"] = tracee.Obey(hostileChild()) }

type hostileRecord struct {
	Path  string
	Sizes []int32
	Next  *hostileRecord
	Code  int64
}

// hostileChild offers probes as its commands say, and lies about what they fire.
func hostileChild() func(string) error {
	p := provider.New("localhostile", &provider.Options{Local: false})
	provider.NewProbe4[string, int64, []byte, uint8](p, "text", "s", "n", "b", "small")
	provider.NewStructProbe[hostileRecord](p, "record")
	return func(mode string) error {
		if err := p.Load(); err != nil {
			return err
		}
		if mode == "schemas" {
			for seed := range uint64(200) {
				if err := liar(seed); err != nil {
					return err
				}
			}
		}
		h := &hostile{mode: mode, random: rand.New(rand.NewPCG(1, 2))}
		l, err := rendezvous.Listen(h, "\x1b[31m\nname", []string{"/dev/shm", os.TempDir()})
		h.listener.Store(l)
		return err
	}
}

// liar maps a copy of the provider's object whose description of the arguments is
// damaged at random.
func liar(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, seed))
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return err
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || !strings.HasPrefix(to, "/memfd:") || strings.Contains(to, "liar") {
			continue
		}
		data, err := os.ReadFile(link)
		if err != nil {
			return err
		}
		f, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			continue
		}
		types := f.Section(".stapsdt.types")
		for range 1 + random.IntN(12) {
			data[types.Offset+random.Uint64N(types.FileSize)] = byte(random.Uint32())
		}
		fd, err := unix.MemfdCreate("liar", 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, data); err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, len(data), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		return err
	}
	return errors.New("the provider's object is not found")
}

// hostile is a process's side of sessions.
type hostile struct {
	mode     string
	random   *rand.Rand
	listener atomic.Pointer[rendezvous.Listener]
	sites    int
	ending   atomic.Bool
}

func (h *hostile) Watch(w *ring.Writer, s *rendezvous.Site) uint32 {
	h.sites++
	switch h.mode {
	case "silent":
		select {}
	case "refuses":
		return 1 << 30
	case "closes":
		go h.listener.Load().Close()
	case "slow":
		time.Sleep(20 * time.Millisecond)
	}
	if h.sites == 1 {
		switch h.mode {
		case "scribbles":
			go scribble()
		case "unstoppable":
			for range 4 {
				go h.swamp(w)
			}
		default:
			for range 2 {
				go h.flood(w, rand.New(rand.NewPCG(h.random.Uint64(), 1)))
			}
		}
	}
	return 0
}

func (h *hostile) Forget(*ring.Writer, uint32) {}

func (h *hostile) End(w *ring.Writer) {
	switch h.mode {
	case "unstoppable": // it writes on, and does not say that it has stopped
		h.ending.Store(true)
		select {}
	}
}

// flood writes records of random bytes and sizes, whose beginnings are mostly plausible.
func (h *hostile) flood(w *ring.Writer, random *rand.Rand) {
	block := make([]uint64, 128)
	for n := 0; ; n++ {
		for i := range block[:8+random.IntN(16)] {
			switch random.IntN(4) {
			case 0:
				block[i] = random.Uint64()
			case 1:
				block[i] = uint64(random.IntN(300))
			case 2:
				block[i] = 0
			default:
				block[i] = 1<<63 - uint64(random.IntN(3))
			}
		}
		r := ring.Record{Block: unsafe.Pointer(&block[0]), Size: uintptr(random.IntN(8 * len(block)))}
		number := uint32(random.IntN(4))
		if random.IntN(50) == 0 {
			number = random.Uint32() & ring.MaxSite
		}
		r.Site(number, random.IntN(3), random.IntN(4) == 0)
		if w.Write(&r) == ring.Closed {
			return
		}
		if n%64 == 0 {
			runtime.Gosched()
		}
	}
}

// swamp writes faster than anybody reads. Once a tracer has waited for the end for a
// second, swamp leaves some of the processors to others.
func (h *hostile) swamp(w *ring.Writer) {
	var block [24]uint64
	r := ring.Record{Block: unsafe.Pointer(&block[0]), Size: unsafe.Sizeof(block)}
	r.Site(0, 0, false)
	var waited time.Time
	for n := 0; w.Write(&r) != ring.Closed; n++ {
		switch {
		case n%1024 != 0 || !h.ending.Load():
		case waited.IsZero():
			waited = time.Now().Add(time.Second)
		case time.Now().After(waited):
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// scribble writes over all rings of this process: positions, counters and records.
func scribble() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	random := rand.New(rand.NewPCG(3, 4))
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if !strings.Contains(line, "usdt-events") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x rw", &from, &to); err != nil {
			continue
		}
		memory := unsafe.Slice((*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&from))), (to-from)/8)
		go func() {
			// At first small steps, which go unnoticed for longest.
			for n := uint64(0); ; n++ {
				i := 512 + random.IntN(4096)
				if n%4 == 0 {
					i = random.IntN(len(memory))
				}
				switch random.IntN(3) {
				case 0:
					atomic.StoreUint64(&memory[i], n)
				case 1:
					atomic.AddUint64(&memory[i], 8*uint64(random.IntN(8)))
				default:
					atomic.StoreUint64(&memory[i], random.Uint64()>>random.IntN(64))
				}
			}
		}()
	}
}

// inTime fails the test if something takes long.
func inTime(t testing.TB, what string, limit time.Duration, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s takes more than %v\n%s", what, limit, stacks[:runtime.Stack(stacks, true)])
	}
}

// TestLocalHostile traces processes that lie. Tracing ends, each time, with numbers that
// add up; the tracer neither crashes nor waits, and does not grow.
func TestLocalHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what messages say")
	}
	for _, mode := range []string{"garbage", "scribbles", "schemas", "refuses", "closes", "slow", "silent", "unstoppable"} {
		t.Run(mode, func(t *testing.T) {
			p := startChild(t, "localhostile")
			p.Do("%s", mode)
			o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}, Follow: []string{"*"}}
			small := attach.EventOptions{RingSize: 1 << 20}
			before := held(t).heap
			switch mode {
			case "silent": // two seconds are waited for an answer
				inTime(t, "a session", time.Minute, func() { hostileSession(t, &small, &o) })
			case "unstoppable": // up to ten seconds
				inTime(t, "a session and an aggregate", time.Minute, func() {
					var both sync.WaitGroup
					both.Go(func() { hostileSession(t, &small, &o) })
					both.Go(func() { hostileAggregate(t, &o) })
					both.Wait()
				})
			default:
				inTime(t, "a session", time.Minute, func() { hostileSession(t, &small, &o) })
				chosen := o
				chosen.Where, small.Sample, small.MaxString = `s ~ "*a*" || small > 3`, 2, 16
				inTime(t, "a session with a condition", time.Minute, func() { hostileSession(t, &small, &chosen) })
				inTime(t, "an aggregate", time.Minute, func() { hostileAggregate(t, &o) })
			}
			if after := held(t).heap; after > before+8<<20 {
				t.Errorf("the tracer has grown from %d to %d bytes", before, after)
			}
		})
	}
}

const hostileTime = 200 * time.Millisecond

func hostileSession(t *testing.T, what *attach.EventOptions, o *attach.Options) {
	s, err := attach.OpenEvents(t.Context(), []string{"localhostile:*"}, what, o)
	if err != nil {
		if strings.Contains(err.Error(), "\x1b") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q is not one line", err)
		}
		return
	}
	time.AfterFunc(hostileTime, func() { s.Stop() })
	for v, err := range s.Views() {
		if err != nil || v == nil {
			continue
		}
		ev, _ := v.Event()
		if len(ev.Args) > 0 {
			_ = fmt.Sprint(ev.Args)
		}
	}
	if err := s.Close(); err != nil {
		t.Logf("close: %v", err)
	}
	checkSum(t, s)
}

func hostileAggregate(t *testing.T, o *attach.Options) {
	a, err := attach.OpenAggregate(t.Context(), []string{"localhostile:text"}, attach.Hist("n").By("s", "small"), o)
	if err != nil {
		return
	}
	for end := time.Now().Add(hostileTime); time.Now().Before(end); {
		if _, err := a.Read(); err != nil {
			t.Error(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Logf("close: %v", err)
	}
	checkSum(t, a)
}
