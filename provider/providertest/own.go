package providertest

import (
	"context"
	"reflect"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Goroutines inherit the labels of the goroutine that starts them, as profiles show them.
// A recorder marks the goroutine of its test by a label, so that whatever this goroutine
// starts, directly or not, has the mark. A context can carry it elsewhere.

// mark is the label's key. Its value is the numbers of recorders, with a comma behind each.
const mark = "usdt-recorders"

var recorders atomic.Uint64

// newMark returns what is to be found in the label's value.
func newMark() string { return strconv.FormatUint(recorders.Add(1), 10) + "," }

// marks returns the marks in a context.
func marks(ctx context.Context) string {
	value, _ := pprof.Label(ctx, mark)
	return value
}

// marked reports whether a mark is among others.
func marked(marks, mark string) bool { return strings.Contains(","+marks, ","+mark) }

// withMark returns a context with a further mark.
func withMark(ctx context.Context, m string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels(mark, marks(ctx)+m))
}

// labels is a context that has the labels of the goroutine that has made it, and nothing
// else.
type labels struct {
	context.Context
	value any
}

func here() context.Context {
	l := labels{Context: context.Background()}
	if p := goroutineLabels(); p != nil {
		l.value = reflect.NewAt(labelsType, p).Interface()
	}
	return l
}

func (l labels) Value(key any) any {
	if key == labelsKey {
		return l.value
	}
	return nil
}

// goroutineLabels returns the labels of the goroutine that calls it. Package runtime keeps
// the function for others than pprof (go.dev/issue/67401).
//
//go:linkname goroutineLabels runtime/pprof.runtime_getProfLabel
func goroutineLabels() unsafe.Pointer

// labelsKey is the key under which contexts have labels, and labelsType is what they are a
// pointer to. Both are unexported types of pprof.
var (
	labelsKey  = keyOfLabels()
	labelsType = reflect.TypeOf(pprof.WithLabels(context.Background(), pprof.Labels()).Value(labelsKey)).Elem()
)

// askedFor is a context that keeps the key that it is asked for.
type askedFor struct {
	context.Context
	key *any
}

func (a askedFor) Value(key any) any {
	*a.key = key
	return nil
}

func keyOfLabels() (key any) {
	pprof.Label(askedFor{context.Background(), &key}, "")
	return key
}
