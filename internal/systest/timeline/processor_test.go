package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// needProcessor skips a test where tests with traces compare nothing.
func needProcessor(t *testing.T) {
	t.Helper()
	if !Installed() {
		needs.Skip(t, "needs Perfetto's trace_processor: packages chromium-shell and g++")
	}
}

// TestQuery checks texts of all lengths, whose memory is laid out in two ways, and answers
// of no and of several rows.
func TestQuery(t *testing.T) {
	needProcessor(t)
	const short, long = "0123456789012345678901", "01234567890123456789012"
	got := Query(t, nil, "select '"+short+"', '"+long+"', '', null", "select 1 where 0", "select 1 union select 2")
	for i, want := range [][][]string{{{short, long, "", none}}, nil, {{"1"}, {"2"}}} {
		if !slices.EqualFunc(got[i], want, slices.Equal) {
			t.Errorf("answer %d is %q, want %q", i, got[i], want)
		}
	}
}

// packed is a field: a number or, with parts, a message.
func packed(number protowire.Number, value uint64, parts ...[]byte) []byte {
	if parts == nil {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), value)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
}

// example returns the packets of a trace of an instant and a slice on a thread.
func example() [][]byte {
	clock := func(id uint64) []byte { return packed(1, 0, packed(1, id), packed(2, 1000)) }
	event := func(at uint64, fields ...[]byte) []byte {
		return packed(1, 0, packed(8, at), packed(10, 5), packed(13, 2), packed(11, 0, append(fields, packed(11, 7))...))
	}
	text := []byte("text")
	return [][]byte{
		packed(1, 0, packed(10, 5), packed(13, 1), packed(59, 0, packed(58, 6)), packed(6, 0, clock(6), clock(1), packed(2, 6)),
			packed(12, 0, packed(1, 0, packed(1, 1), packed(2, 0, text)), packed(2, 0, packed(1, 1), packed(2, 0, text)))),
		packed(1, 0, packed(10, 5), packed(60, 0, packed(1, 7), packed(4, 0, packed(1, 10), packed(2, 11), packed(5, 0, text)))),
		event(2000, packed(9, 3), packed(3, 1), packed(10, 1)),
		event(3000, packed(9, 1), packed(3, 1), packed(10, 1)),
		event(4000, packed(9, 2), packed(3, 1), packed(10, 1)),
	}
}

// complaints keeps the errors of a test.
type complaints struct {
	testing.TB
	said []string
}

func (e *complaints) Errorf(format string, args ...any) {
	e.said = append(e.said, fmt.Sprintf(format, args...))
}

// TestCompare checks that a comparison finds what differs, and complaints.
func TestCompare(t *testing.T) {
	needProcessor(t)
	b := slices.Concat(example()...)
	read := func() *Trace {
		trace, err := Read(b)
		if err != nil || len(trace.Slices) != 2 || trace.Slices[1].TID != 11 {
			t.Fatalf("the trace is %+v, error %v", trace, err)
		}
		return trace
	}
	read().Compare(t, b)
	for what, change := range map[string]func(trace *Trace){
		"text at 2000":  func(trace *Trace) { trace.Slices[0].Name = "other" },
		"3000 for 1000": func(trace *Trace) { trace.Slices[1].Took++ },
		"thread 11":     func(trace *Trace) { trace.Slices[1].TID++ },
		"key=value":     func(trace *Trace) { trace.Slices[1].Args["key"] = "value" },
		"called by":     func(trace *Trace) { trace.Slices[1].Stack = []string{"f"} },
		"Flows":         func(trace *Trace) { trace.Flows = [][2]*Slice{{trace.Slices[0], trace.Slices[1]}} },
		"10 load: 1":    func(trace *Trace) { trace.Counters["10 load"] = []float64{1} },
		"11 text":       func(trace *Trace) { trace.Threads = nil },
		"Processes":     func(trace *Trace) { trace.Processes[10] = "comm" },
		"Ahead":         func(trace *Trace) { trace.Ahead++ },
	} {
		trace, found := read(), &complaints{TB: t}
		change(trace)
		trace.Compare(found, b)
		if len(found.said) != 1 {
			t.Errorf("%s: found %q, want one difference", what, found.said)
		}
	}
	// Without the first packet, the others refer to what is not there.
	found := &complaints{TB: t}
	(&Trace{}).Compare(found, slices.Concat(example()[1:]...))
	if !strings.Contains(strings.Join(found.said, "\n"), "trace_processor complains: ") {
		t.Errorf("no complaint of a trace without a beginning: %q", found.said)
	}
}
