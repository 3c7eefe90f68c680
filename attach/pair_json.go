package attach

import "strconv"

// MarshalJSON returns the pair as one JSON object, with the nanoseconds that it took and the
// objects that [event.Event.MarshalJSON] makes of its events:
//
//	{"latency": …, "start": {…}, "end": {…}}
func (p Pair) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// AppendJSON appends to dst what MarshalJSON returns.
func (p *Pair) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"latency":`...), int64(p.Took), 10)
	dst = p.Start.AppendJSON(append(dst, `,"start":`...))
	dst = p.End.AppendJSON(append(dst, `,"end":`...))
	return append(dst, '}')
}
