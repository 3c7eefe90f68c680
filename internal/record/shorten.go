package record

import "encoding/binary"

// Shorten leaves at most limit bytes of each string in a record, and returns the record, in
// the same memory. A record that is not whole does not become whole.
func (l *Layout) Shorten(rec []byte, limit int) []byte {
	if len(rec) < l.FixedSize() {
		return rec
	}
	failed := l.Failed(rec)
	from, to := l.FixedSize(), l.FixedSize()
	for i := range l.Strings {
		s := &l.Strings[i]
		if failed&(1<<(l.FirstString()+i)) != 0 || s.Sized && failed&(1<<s.Region) != 0 {
			continue
		}
		have, keep := l.kept(rec, s, l.Limit), l.kept(rec, s, limit)
		if have > len(rec)-from {
			return rec[:to]
		}
		copy(rec[to:], rec[from:from+keep])
		from, to = from+have, to+keep
		if !s.Sized && !s.Counted {
			binary.NativeEndian.PutUint64(rec[Slot(s.Slot):], uint64(keep))
		}
	}
	if l.TailSize() > 0 {
		to += copy(rec[to:], rec[from:])
	}
	return rec[:to]
}

// kept returns how many bytes there are of a string if at most limit bytes of it are kept.
func (l *Layout) kept(rec []byte, s *String, limit int) int {
	width, length := uint64(s.Width()), uint64(0)
	switch {
	case s.Sized:
		length = binary.NativeEndian.Uint64(rec[l.BlockOffset()+int(s.Length):])
	case s.Counted:
		length = s.lengthIn(rec)
	default: // one byte more than the limit says that the string goes on
		return int(min(binary.NativeEndian.Uint64(rec[Slot(s.Slot):]), uint64(limit)+1))
	}
	return int(min(length, uint64(limit)/width) * width)
}

// lengthIn returns the length of a string whose length is in a slot.
func (s *String) lengthIn(rec []byte) uint64 {
	n := binary.NativeEndian.Uint64(rec[Slot(s.LengthSlot):])
	unused := 64 - 8*int(s.LengthSize)
	if n <<= unused; s.LengthSigned {
		return uint64(int64(n) >> unused)
	}
	return n >> unused
}
