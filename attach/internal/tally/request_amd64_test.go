package tally_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// request is an event of a probe of bindtest.Request's type.
type request struct {
	pid    int
	comm   string
	time   uint64
	id     uint64
	status int32
	path   string
	noPath bool // its memory cannot be read
	ratio  float64
	port   int32
	noPeer bool // the pointer to it is nil
}

var (
	paths  = []string{"", "/", "/api/users", "SELECT 1", "SELECT 23", "SELECT 'x' FROM t", strings.Repeat("long", 50), strings.Repeat("long", 50) + "er"}
	ratios = []float64{0, math.Copysign(0, -1), 0.5, 1.25, -3, 1e-9, 1e-12, math.Ldexp(1, -32), 404, 1e6, -1e10, 1e14, math.NaN()}
)

func newRequest(r *rand.Rand) request {
	e := request{
		pid: 1 + r.IntN(3), comm: []string{"sh", "b", "abc"}[r.IntN(3)], id: uint64(r.IntN(9)), status: int32(r.IntN(1000) - 300),
		path: paths[r.IntN(len(paths))], noPath: r.IntN(20) == 0, ratio: ratios[r.IntN(len(ratios))], port: int32(r.IntN(5)), noPeer: r.IntN(10) == 0,
	}
	if r.IntN(10) == 0 {
		e.id, e.status = uint64(r.Uint32()), 0
	}
	return e
}

// Addresses of what pointers lead to.
const (
	pathAt = 0x1000
	peerAt = 0x2000
)

// record returns the record that a program or a process makes of the event.
func (e *request) record(sig *query.Signature) record.Record {
	block := make([]byte, bindtest.RequestSize)
	put := func(at int, v uint64) { binary.NativeEndian.PutUint64(block[at:], v) }
	put(bindtest.RequestID, e.id)
	put(bindtest.RequestStatus, uint64(uint32(e.status)))
	put(bindtest.RequestPath, pathAt)
	put(bindtest.RequestLen, uint64(len(e.path)))
	put(bindtest.RequestRatio, math.Float64bits(e.ratio))
	if !e.noPeer {
		put(bindtest.RequestPeer, peerAt)
	}
	memory := func(address uint64, b []byte) bool {
		switch {
		case address == peerAt && !e.noPeer:
			binary.NativeEndian.PutUint32(b, uint32(e.port))
		case address == pathAt && !e.noPath:
			copy(b, e.path)
		default:
			return false
		}
		return true
	}
	head := &record.Header{Time: e.time, PID: e.pid, TID: e.pid, Comm: e.comm}
	return sig.Capture(nil, head, make([]uint64, sig.Slots), block, memory)
}

// text returns the path as a key has it: so many bytes of it, whole if a longer one has another
// length.
func (e *request) text(most int, whole bool) string {
	if e.noPath && e.path != "" {
		return fmt.Sprint("!", query.MarkFault)
	}
	if len(e.path) <= most {
		return e.path
	}
	if whole {
		return e.path[:most] + "…"
	}
	return e.path[:most]
}

// statement returns the path as sql makes a key of it.
func statement(e *request) string {
	switch text := e.text(128, true); {
	case strings.HasPrefix(text, "SELECT '"):
		return "SELECT ? FROM t"
	case strings.HasPrefix(text, "SELECT "):
		return "SELECT ?"
	case strings.HasSuffix(text, "…"):
		return strings.TrimSuffix(text, "…") + "..."
	default:
		return text
	}
}

// requests returns the signature and the layout with which records of requests are added up.
func requests(t *testing.T, c *bindtest.Case) (*query.Signature, *bind.Layout) {
	t.Helper()
	c.Probes, c.Local = []bindtest.Probe{{Name: "r", Type: bindtest.Request()}}, true
	bound, err := c.Bind()
	if err != nil {
		t.Fatal(err)
	}
	if bound.Schemas[0] == nil {
		t.Fatal(bound.Plan[0].Reason)
	}
	return bound.Schemas[0].Computed, bound.Layout
}

// readable returns the parts of a key: a mark, a number or a text.
func readable(l *bind.Layout, key []byte) string {
	var parts []string
	for i := range l.Parts {
		p := &l.Parts[i]
		b := key[p.Offset : p.Offset+p.Size]
		if len(l.Wanted.By) > 0 && l.Wanted.By[0] != "pid" && !strings.HasPrefix(l.Wanted.By[0], "comm") {
			if mark := query.MarkIn(key, len(l.Parts), i); mark != 0 {
				parts = append(parts, fmt.Sprint("!", mark))
				continue
			}
		}
		switch {
		case p.Size == query.KeyComm:
			parts = append(parts, string(bytes.TrimRight(b, "\x00")))
		case p.IsString():
			n, most := binary.NativeEndian.Uint64(b), uint64(p.Most())
			text := string(b[query.StringData:][:min(n, most)])
			if n > most {
				text += "…"
			}
			parts = append(parts, text)
		default:
			parts = append(parts, fmt.Sprint(int64(binary.NativeEndian.Uint64(b))))
		}
	}
	return strings.Join(parts, "|")
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
