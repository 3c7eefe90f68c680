package perfetto

import (
	"bytes"
	"cmp"
	"encoding/hex"

	"github.com/go-usdt/usdt/event"
)

// appendFlows appends the numbers of the flows to which an event belongs, by its arguments
// or by the arguments of the end of the slice that it begins.
func (w *Writer) appendFlows(dst []byte, args, end []event.Arg) []byte {
	for i, path := range w.flows {
		a := lookup(args, path)
		if a == nil || isNone(a) {
			a = cmp.Or(lookup(end, path), a)
		}
		if a == nil {
			continue
		}
		w.flowed[i] = true
		if isNone(a) {
			continue
		}
		// Other programs may have other types for it: the text of the value counts.
		w.other = append(append(w.other[:0], path...), 0)
		switch v := a.Value.(type) {
		case string:
			w.other = append(w.other, v...)
		case event.Hex:
			w.other = hex.AppendEncode(w.other, v)
		default:
			w.other = a.AppendJSON(w.other)
		}
		dst = appendFixed(dst, eventFlow, hash(w.other)|1) // 0 is none
	}
	return dst
}

// isNone reports whether an argument has the value that stands for none.
func isNone(a *event.Arg) bool {
	switch v := a.Value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case uint64:
		return v == 0
	case int64:
		return v == 0
	case event.Hex:
		return len(bytes.Trim(v, "\x00")) == 0
	}
	return false
}

// hash returns the FNV-1a hash of bytes.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
