package rendezvous

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/notes"
)

// Version is that of the protocol.
const Version = 1

// Messages, by their first word.
const (
	msgHello   = 1 + iota // tracer: version, secret, size of the ring
	msgWelcome            // process: version, its own PID; with the ring's two files
	msgRefused            // process: why it closes the connection, as text
	msgWatch              // tracer: sites
	msgArmed              // process: a Refusal for each
	msgForget             // tracer: numbers of sites
	msgDone               // process: the answer to msgForget and msgStop
	msgStop               // tracer
	msgLoaded             // process, at any time: there are new probes
)

const (
	helloMagic = "usdtring"
	secretSize = 16
	// maxMessage is the largest message, in bytes.
	maxMessage = 32 << 10
)

var order = binary.LittleEndian

// hello is a tracer's first message.
type hello struct {
	version uint32
	secret  [secretSize]byte
	size    uint32 // of the ring, all in all
}

func (h *hello) append(b []byte) []byte {
	b = append(order.AppendUint32(b, msgHello), helloMagic...)
	b = append(order.AppendUint32(b, h.version), h.secret[:]...)
	return order.AppendUint32(b, h.size)
}

// decode reports whether b is such a message.
func (h *hello) decode(b []byte) bool {
	if len(b) != 4+8+4+secretSize+4 || order.Uint32(b) != msgHello || string(b[4:12]) != helloMagic {
		return false
	}
	h.version = order.Uint32(b[12:])
	h.secret = [secretSize]byte(b[16:])
	h.size = order.Uint32(b[16+secretSize:])
	return true
}

// The sizes of a site's parts in a message.
const (
	siteSize     = 56
	termSize     = 24
	indirectSize = 16
	stringSize   = 12
)

// appendSite appends a site to a message.
func appendSite(b []byte, s *Site) []byte {
	l := s.Layout
	size := siteSize + termSize*len(s.Where) + indirectSize*len(l.Indirects) + stringSize*len(l.Strings)
	b = order.AppendUint32(b, uint32(size))
	b = order.AppendUint32(b, s.Number)
	b = append(b, s.Object[:]...)
	b = order.AppendUint64(b, s.Location)
	b = order.AppendUint32(b, s.Sample)
	b = order.AppendUint32(b, uint32(l.Limit))
	b = order.AppendUint32(b, l.Block)
	var slots [ring.MaxSlots]byte
	for i, slot := range s.Slots[:min(len(s.Slots), len(slots))] {
		slots[i] = byte(slot)
	}
	b = append(b, slots[:]...)
	b = order.AppendUint16(b, uint16(l.Stack.Most))
	b = order.AppendUint16(b, uint16(len(s.Where)))
	b = order.AppendUint16(b, uint16(len(l.Indirects)))
	b = order.AppendUint32(b, uint32(len(l.Strings)))
	for i := range s.Where {
		r := s.Where[i].inRange()
		var flags byte
		if r.Or {
			flags |= 1
		}
		if r.Outside {
			flags |= 2
		}
		b = append(order.AppendUint32(b, r.Offset), r.Size, byte(r.Kind), flags, 0)
		b = order.AppendUint64(order.AppendUint64(b, r.Low), r.Span)
	}
	for _, in := range l.Indirects {
		b = order.AppendUint32(b, in.Pointer)
		b = order.AppendUint32(b, in.Size)
		b = order.AppendUint32(b, in.Length)
		b = order.AppendUint32(b, in.Elem)
	}
	for _, str := range l.Strings {
		b = order.AppendUint32(b, str.Pointer)
		b = order.AppendUint32(b, str.Length)
		b = order.AppendUint32(b, str.Elem)
	}
	return b
}

// decodeSite decodes the first site in b, and returns what follows, or nil if b holds
// none. The layout is one that package record can write, whether it fits the probe or
// not.
func decodeSite(s *Site, b []byte) (rest []byte) {
	if len(b) < siteSize {
		return nil
	}
	counts := word(b, 12)
	terms, indirects, strings := int(counts&0xffff), int(counts>>16), int(word(b, 13)&0xffff)
	size := siteSize + termSize*terms + indirectSize*indirects + stringSize*strings
	l := &record.Layout{Limit: int(word(b, 9)), Block: word(b, 10)}
	l.Stack.Most = int(order.Uint16(b[46:]))
	s.Slots = s.slots[:0]
	for _, slot := range b[44:46] {
		if slot != 0 {
			s.Slots = s.slots[:l.Slots+1]
			s.slots[l.Slots] = Slot(slot)
			l.Slots++
		}
	}
	if int(word(b, 0)) != size || size > len(b) || word(b, 13)>>16 != 0 ||
		l.Limit > ring.MaxRecord || l.Block > notes.MaxBlockSize || terms > MaxTerms ||
		l.Slots+1+indirects+strings > record.MaxBlockReads || l.Block == 0 && indirects+strings > 0 {
		return nil
	}
	b, rest = b[:size], b[size:]
	s.Number, s.Sample, s.Layout = word(b, 1), word(b, 8), l
	copy(s.Object[:], b[8:])
	s.Location = order.Uint64(b[24:])
	b = b[siteSize:]
	s.Ranges = make([]Range, terms)
	for i := range s.Ranges {
		s.Ranges[i] = Range{word(b, 0), b[4], TermKind(b[5]), b[6]&2 != 0, b[6]&1 != 0, order.Uint64(b[8:]), order.Uint64(b[16:])}
		b = b[termSize:]
	}
	for range indirects {
		in := record.Indirect{Pointer: word(b, 0), Size: word(b, 1), Length: word(b, 2), Elem: word(b, 3)}
		if in.Size > notes.MaxBlockSize || l.FixedSize() > ring.MaxRecord/2 {
			return nil
		}
		l.AddIndirect(in)
		b = b[indirectSize:]
	}
	l.Strings = make([]record.String, strings)
	for i := range l.Strings {
		str := &l.Strings[i]
		str.Sized, str.Pointer, str.Length, str.Elem = true, word(b, 0), word(b, 1), word(b, 2)
		str.Region = l.RegionRead(str.Pointer)
		b = b[stringSize:]
	}
	return rest
}

// word returns a word of a message.
//
//go:noinline
func word(b []byte, i int) uint32 { return order.Uint32(b[4*i:]) }
