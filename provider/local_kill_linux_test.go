//go:build !usdt_nolocal

package provider_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// kills is how often either side is killed.
var kills = flag.Int("kills", 20, "number of processes that TestKilled… kill")

func init() { roles["flood"], roles["watcher"] = flooding, watchingUntilKilled }

const floodGoroutines = 4

// flooding is the role of a service that fires until it is killed.
func flooding(args []string) error {
	fired, err := tracee.OpenCounters(args[0], floodGoroutines)
	if err != nil {
		return err
	}
	p := provider.New("localflood", &provider.Options{Local: true})
	flood := provider.NewProbe3[uint64, uint64, string](p, "event", "goroutine", "n", "text")
	if err := p.Load(); err != nil {
		return err
	}
	fmt.Println("ready")
	for !flood.Enabled() {
	}
	for g := range uint64(floodGoroutines) {
		go func() {
			for n := uint64(0); ; n++ {
				flood.Fire(g, n, "sixteen bytes ok"[:n%17])
				fired[g].N.Store(n + 1)
			}
		}()
	}
	select {}
}

// watchingUntilKilled is the role of a tracer that reads nothing.
func watchingUntilKilled(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	tr, err := connect(context.Background(), pid, args[1], watching{})
	if err != nil {
		return err
	}
	fmt.Println("ready", len(tr.probes))
	select {}
}

// TestKilledService kills a service in mid-flood: its tracer gets all that it wrote,
// and knows of all that it lost.
func TestKilledService(t *testing.T) {
	if testing.Short() {
		t.Skip("short: floods, and no kernel makes a difference")
	}
	path := filepath.Join(t.TempDir(), "fired")
	fired, err := tracee.OpenCounters(path, floodGoroutines)
	if err != nil {
		t.Fatal(err)
	}
	defer fired.Close()
	for round := range *kills {
		for g := range fired {
			fired[g].N.Store(0)
		}
		cmd := tracee.Self("flood")
		cmd.Args = append(cmd.Args, path)
		service := tracee.StartVictim(t, cmd)
		if service.Line() != "ready" {
			t.Fatal("no service")
		}
		tr := attachTo(t, service.PID(), "localflood", watching{size: 1 << 20})
		received := uint64(0)
		var last [floodGoroutines]uint64
		read := func(final bool) {
			if _, err := tr.Ring.Poll(final); err != nil {
				t.Fatal(err)
			}
			for {
				rec, ok, err := tr.Ring.Next(tr.buf)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					return
				}
				tr.buf = rec
				received++
				v, err := tr.decoder.View(rec)
				if err != nil {
					t.Fatal(err)
				}
				g, n, text := v.Arg(0).Uint(), v.Arg(1).Uint(), string(v.Arg(2).Bytes())
				if g >= floodGoroutines || n+1 <= last[g] || text != "sixteen bytes ok"[:n%17] {
					t.Fatalf("goroutine %d, event %d after %d, text %q", g, n, last[g], text)
				}
				last[g] = n + 1
			}
		}
		for received < 1000*uint64(round+1) {
			read(false)
		}
		syscall.Kill(service.PID(), syscall.SIGKILL)
		<-tr.Gone
		for range 2 {
			read(true)
		}
		n := tr.Ring.Counts()
		sum := fired.Sum()
		if n.Recorded != received || n.Fired() < sum || n.Fired() > sum+floodGoroutines || n.Contended != 0 && !raced {
			t.Errorf("round %d: counts %+v, want %d received and %d to %d fired", round, n, received, sum, sum+floodGoroutines)
		}
		tr.Close()
	}
}

// TestKilledTracers kills tracers in mid-flood: the service goes on, another tracer
// misses nothing, and nobody watches in the end.
func TestKilledTracers(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a flood leaves an emulated processor no time to answer")
	}
	p := offered(t)
	flood := provider.NewProbe2[uint64, uint64](p, "event", "goroutine", "n")
	load(t, p)
	tr := attachTo(t, os.Getpid(), p.Name(), watching{size: 1 << 20})
	var stop atomic.Bool
	var fired atomic.Uint64
	var all sync.WaitGroup
	for g := range uint64(2) {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := uint64(0); !stop.Load(); n++ {
				flood.Fire(g, n)
				fired.Add(1)
			}
		}()
	}
	for range *kills {
		cmd := tracee.Self("watcher")
		cmd.Args = append(cmd.Args, strconv.Itoa(os.Getpid()), p.Name())
		other := tracee.StartVictim(t, cmd)
		if got := other.Line(); got != "ready 1" {
			t.Fatalf("the other tracer says %q", got)
		}
		syscall.Kill(other.PID(), syscall.SIGKILL)
		other.End()
	}
	stop.Store(true)
	all.Wait()
	if err := tr.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := tr.Ring.Counts(); n.Fired() != fired.Load() || n.Contended != 0 && !raced {
		t.Errorf("counts %+v, want %d fired", n, fired.Load())
	}
	tr.Close()
	for flood.Enabled() { // until the last session has ended
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestLocalHostileLayouts asks for records by arbitrary layouts: the process refuses
// them, or makes the records without reading what is not there.
func TestLocalHostileLayouts(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what the provider refuses")
	}
	p := offered(t)
	parcels := provider.NewStructProbe[parcel](p, "parcels")
	load(t, p)
	s, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sites, _, err := sitesOf(os.Getpid(), p.Name(), watching{})
	if err != nil || len(sites) != 1 {
		t.Fatalf("%d sites, %v", len(sites), err)
	}
	good := sites[0]
	whole := &parcel{
		ID: 1, To: "home", Crates: []crate{{1.5, "a", [3]int16{1, 2, 3}}, {0, "", [3]int16{}}}, Raw: []byte("raw"), Dims: []uint16{1, 2, 65535},
		Next: &parcel{ID: 2, To: "next", Crates: []crate{{Label: "x"}}},
	}
	number, accepted, refused := uint32(1), 0, 0
	try := func(l *record.Layout) {
		site := good
		site.Number, site.Layout = number, l
		number++
		r, err := s.Watch([]rendezvous.Site{site})
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		if r[0] != nil {
			refused++
			return
		}
		accepted++
		parcels.Fire(whole)
		parcels.Fire(&parcel{})
		parcels.Fire(nil)
		if err := s.Forget([]uint32{site.Number}); err != nil {
			t.Fatal(err)
		}
	}
	block := good.Layout.Block
	for pointer := range block {
		for _, elem := range []uint32{0, 1, 2, 4, 8, 24, 32, 40, block} {
			for _, length := range []uint32{0, pointer + 8, pointer + 16} {
				l := &record.Layout{Slots: 1, Block: block, Limit: 4096, Strings: []record.String{{Sized: true, Pointer: pointer, Length: length, Elem: elem, Region: 1}}}
				if pointer%4 == 0 {
					try(l)
				}
				if pointer%8 == 0 {
					l = &record.Layout{Slots: 1, Block: block, Limit: 4096}
					l.AddIndirect(record.Indirect{Pointer: pointer, Size: 8 * elem, Length: length, Elem: elem})
					try(l)
					l = &record.Layout{Slots: 1, Block: block, Limit: 4096}
					at := l.AddIndirect(record.Indirect{Pointer: pointer, Size: elem})
					l.Strings = []record.String{{Sized: true, Pointer: at + 8, Length: at + 16, Region: 2}}
					try(l)
				}
			}
		}
	}
	for _, bad := range []*record.Layout{{Slots: 1, Block: block + 8}, {Slots: 1, Block: block - 8}, {Slots: 1}} {
		try(bad)
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}
