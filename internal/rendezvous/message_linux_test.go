package rendezvous

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
)

// exampleSite has all parts that a site can have.
func exampleSite() Site {
	l := &record.Layout{Slots: 2, Block: 40, Limit: 512}
	l.AddIndirect(record.Indirect{Pointer: 8, Size: 20})
	l.AddIndirect(record.Indirect{Pointer: 16, Length: 24, Elem: 24, Size: 72})
	l.Strings = []record.String{
		{Sized: true, Pointer: 0, Length: 24, Region: 2},
		{Sized: true, Pointer: 40, Length: 48, Elem: 4, Region: 3},
	}
	return Site{
		Object: [16]byte{1, 2, 3}, Location: 1 << 40, Number: ring.MaxSite, Layout: l, Sample: 10,
		Slots: []Slot{IPv4, Goroutine},
		Where: []Term{{Offset: 8, Size: 4, Kind: Signed, Op: Less, Value: 1<<64 - 5, Or: true}, {Offset: 32, Size: 8, Kind: Float, Op: GreaterEqual, Value: 7}},
	}
}

// TestSiteMessage checks that a site arrives as it was sent.
func TestSiteMessage(t *testing.T) {
	want := exampleSite()
	b := appendSite([]byte("before"), &want)
	var got Site
	if rest := decodeSite(&got, append(b[len("before"):], "after"...)); string(rest) != "after" {
		t.Fatalf("rest %q", rest)
	}
	for i := range want.Where {
		want.Ranges = append(want.Ranges, want.Where[i].inRange())
	}
	want.Where, want.slots = nil, [2]Slot{IPv4, Goroutine}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v with %+v, want %+v with %+v", got, got.Layout, want, want.Layout)
	}
}

// FuzzSiteMessage decodes arbitrary sites, and encodes the valid ones again.
func FuzzSiteMessage(f *testing.F) {
	s := exampleSite()
	f.Add(appendSite(nil, &s))
	small := Site{Layout: &record.Layout{}}
	f.Add(appendSite(nil, &small))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again Site
		rest := decodeSite(&s, b)
		if rest == nil {
			return
		}
		if s.Layout.Reads() > record.MaxBlockReads || s.Layout.FixedSize() > ring.MaxRecord || len(s.Ranges) > MaxTerms {
			t.Errorf("a site that is too large: %+v", s.Layout)
		}
		ranges := s.Ranges
		if s.Ranges = nil; decodeSite(&again, appendSite(nil, &s)) == nil {
			t.Errorf("%+v cannot be decoded", s)
		}
		again.Ranges, s.Ranges = ranges, ranges
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%+v becomes %+v", s, again)
		}
		if len(rest) > len(b)-siteSize {
			t.Errorf("%d of %d bytes are left", len(rest), len(b))
		}
	})
}

// FuzzMessages lets a process answer arbitrary messages.
func FuzzMessages(f *testing.F) {
	s := exampleSite()
	f.Add(appendSite(order.AppendUint32(order.AppendUint32(nil, msgWatch), 1), &s))
	f.Add(order.AppendUint32(order.AppendUint32(order.AppendUint32(nil, msgForget), 2), 7))
	f.Add(order.AppendUint32(order.AppendUint32(nil, msgStop), 0))
	f.Add((&hello{version: 1}).append(nil))
	w, err := ring.NewWriter(ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { w.Close() })
	l := &Listener{handler: nobody{}}
	f.Fuzz(func(t *testing.T, message []byte) {
		if answer, why := l.answer(w, message); why == "" && (len(answer) < 4 || len(answer) > 4+4*len(message)) {
			t.Errorf("an answer of %d bytes", len(answer))
		}
		var h hello
		if h.decode(message) && !bytes.Equal(h.append(nil), message) {
			t.Errorf("greeting %x becomes %x", message, h.append(nil))
		}
		var o offer
		if o.decode(message) == nil && !bytes.Equal(o.encode(), message) {
			t.Errorf("offer %x becomes %x", message, o.encode())
		}
	})
}

// nobody has no probes.
type nobody struct{}

func (nobody) Watch(*ring.Writer, *Site) uint32 { return uint32(NotThere) }
func (nobody) Forget(*ring.Writer, uint32)      {}
func (nobody) End(*ring.Writer)                 {}
