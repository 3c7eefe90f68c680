package rendezvous_test

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
)

// service is a process without probes: it records what the test fires.
type service struct {
	mu    sync.Mutex
	sites map[*ring.Writer][]rendezvous.Site
	ended chan *ring.Writer // nil if nobody asks
	over  map[*ring.Writer]bool
}

func (s *service) Watch(w *ring.Writer, site *rendezvous.Site) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if site.Location != 0x1000 {
		return uint32(rendezvous.NotThere)
	}
	s.sites[w] = append(s.sites[w], *site)
	return uint32(rendezvous.Armed)
}

func (s *service) Forget(w *ring.Writer, number uint32) {}

func (s *service) End(w *ring.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sites, w)
	if s.ended != nil && !s.over[w] {
		s.over[w] = true
		s.ended <- w
	}
}

// fire records three numbers for every site.
func (s *service) fire(a, b, c uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w, sites := range s.sites {
		for _, site := range sites {
			block := [3]uint64{a, b, c}
			r := ring.Record{Block: unsafe.Pointer(&block), Size: unsafe.Sizeof(block)}
			r.Site(site.Number, 0, false)
			w.Write(&r)
		}
	}
}

// TestSession watches a probe of this process.
func TestSession(t *testing.T) {
	own := &service{sites: map[*ring.Writer][]rendezvous.Site{}}
	l, err := rendezvous.Listen(own, "test", []string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if offered, err := rendezvous.Offered(os.Getpid()); !offered || err != nil {
		t.Fatalf("offered %v, %v", offered, err)
	}
	s, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	layout := &record.Layout{Block: 24}
	refused, err := s.Watch([]rendezvous.Site{{Location: 0x1000, Number: 7, Layout: layout}, {Location: 0x2000, Number: 8, Layout: layout}})
	if err != nil || len(refused) != 2 || refused[0] != nil || refused[1] != rendezvous.NotThere {
		t.Fatalf("refused %v, %v", refused, err)
	}
	before := ring.Now()
	for i := range uint64(1000) {
		own.fire(i, 2*i, 1<<63)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	own.fire(1, 2, 3)
	after := ring.Now()
	if n := s.Ring.Counts(); n != (ring.Counts{Recorded: 1000}) {
		t.Errorf("counts %+v", n)
	}
	if more, err := s.Ring.Poll(true); !more || err != nil {
		t.Fatalf("there are more: %v, %v", more, err)
	}
	var buf []byte
	for i := range uint64(1000) {
		rec, ok, err := s.Ring.Next(buf)
		if !ok || err != nil {
			t.Fatalf("record %d: %v, %v", i, ok, err)
		}
		buf = rec
		r, err := record.Check(rec)
		if err != nil {
			t.Fatal(err)
		}
		word := func(n int) uint64 { return binary.NativeEndian.Uint64(r[layout.BlockOffset()+8*n:]) }
		if r.Site() != 7 || r.PID() != os.Getpid() || layout.Failed(r) != 0 || word(0) != i || word(1) != 2*i || word(2) != 1<<63 || len(r) != layout.FixedSize() {
			t.Fatalf("record %d: %x", i, rec)
		}
		if at := r.Time(); at < before || at > after {
			t.Errorf("record %d is of %d, want %d to %d", i, at, before, after)
		}
	}
	if _, ok, err := s.Ring.Next(buf); ok || err != nil {
		t.Errorf("after the last record: %v, %v", ok, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
