package attach

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// sums are the words of groups by their keys.
type sums struct {
	words int
	of    map[string][]uint64
}

// add adds the words of each CPU to those of the group.
func (s *sums) add(key string, perCPU ...[]byte) {
	sum := s.of[key]
	if sum == nil {
		sum = make([]uint64, s.words)
		s.of[key] = sum
	}
	for _, words := range perCPU {
		merge(sum, words)
	}
}

// readGroups reads and empties a map that no program updates.
func (a *totals) readGroups(m *ebpf.Map) ([]Group, error) {
	all := sums{a.layout.Words(), map[string][]uint64{}}
	if a.layout.KeySize > 0 {
		if err := a.takeGroups(m, &all); err != nil {
			return nil, fmt.Errorf("read groups: %w", err)
		}
	} else {
		var perCPU [][]byte
		if err := m.Lookup(uint32(0), &perCPU); err != nil {
			return nil, fmt.Errorf("read groups: %w", err)
		}
		all.add("", perCPU...)
		for _, words := range perCPU {
			clear(words)
		}
		if err := m.Put(uint32(0), perCPU); err != nil {
			return nil, fmt.Errorf("empty groups: %w", err)
		}
	}
	groups := make([]Group, 0, len(all.of))
	probes := a.sites.Load().probes
	for key, words := range all.of {
		if words[codegen.WordCount] > 0 {
			groups = append(groups, groupOf(a.layout, []byte(key), words, probes))
		}
	}
	sortGroups(groups)
	return groups, nil
}

// sortGroups puts the largest groups first, those of a size by their keys.
func sortGroups(groups []Group) {
	slices.SortFunc(groups, func(x, y Group) int {
		if c := cmp.Compare(y.Count, x.Count); c != 0 {
			return c
		}
		return slices.CompareFunc(x.By, y.By, compareArgs)
	})
}

// batchBytes is how many bytes of groups are asked for at once.
const batchBytes = 4 << 20

// takeGroups takes all groups out of a map.
func (a *totals) takeGroups(m *ebpf.Map, all *sums) error {
	each := 1
	if !a.layout.Shared() {
		each = a.layout.CPUs
	}
	size := 8 * all.words
	keyType := reflect.SliceOf(reflect.ArrayOf(int(m.KeySize()), reflect.TypeFor[byte]()))
	valueType := reflect.SliceOf(reflect.ArrayOf(size, reflect.TypeFor[byte]()))
	batch := min(int(m.MaxEntries()), max(64, batchBytes/(each*size)))
	var cursor ebpf.MapBatchCursor
	for {
		keys, values := reflect.MakeSlice(keyType, batch, batch), reflect.MakeSlice(valueType, batch*each, batch*each)
		for again := true; again; {
			n, err := m.BatchLookupAndDelete(&cursor, keys.Interface(), values.Interface(), nil)
			if errors.Is(err, unix.ENOSPC) {
				break // a bucket of the map has more
			}
			if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return err
			}
			for i := range n {
				key := string(keys.Index(i).Bytes())
				for j := range each {
					all.add(key, values.Index(i*each+j).Bytes())
				}
			}
			if err != nil {
				return nil
			}
		}
		batch *= 2
	}
}

// compareArgs orders keys: missing ones first, numbers by size, text by its
// bytes.
func compareArgs(x, y event.Arg) int {
	switch a := x.Value.(type) {
	case uint64:
		if b, ok := y.Value.(uint64); ok {
			return cmp.Compare(a, b)
		}
	case int64:
		if b, ok := y.Value.(int64); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if b, ok := y.Value.(float64); ok {
			return cmp.Compare(a, b)
		}
	case time.Duration:
		if b, ok := y.Value.(time.Duration); ok {
			return cmp.Compare(a, b)
		}
	case time.Time:
		if b, ok := y.Value.(time.Time); ok {
			return a.Compare(b)
		}
	case netip.Addr:
		if b, ok := y.Value.(netip.Addr); ok {
			return a.Compare(b)
		}
	case string:
		if b, ok := y.Value.(string); ok {
			return cmp.Compare(a, b)
		}
	}
	switch a, b := x.Value, y.Value; {
	case a == nil && b == nil:
		return strings.Compare(fmt.Sprint(x.Err), fmt.Sprint(y.Err))
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return strings.Compare(fmt.Sprint(x.Value), fmt.Sprint(y.Value))
}

// merge adds a CPU's words to the sum.
func merge(sum []uint64, words []byte) {
	for i := range sum {
		v := binary.NativeEndian.Uint64(words[8*i:])
		if i == codegen.WordMin || i == codegen.WordMax {
			sum[i] = max(sum[i], v)
		} else {
			sum[i] += v
		}
	}
}

// groupOf decodes a key and its words.
func groupOf(l *bind.Layout, key []byte, words []uint64, probes []*reader.Probe) Group {
	g := Group{Count: words[codegen.WordCount], By: make([]event.Arg, 0, len(l.Parts))}
	for i, part := range l.Parts {
		arg := event.Arg{Name: l.Wanted.By[i]}
		if reason, missing := l.MissingPart(key, i); missing {
			arg.Err = reason
		} else {
			decodePart(&part, &arg, key[part.Offset:part.Offset+part.Size], probes)
		}
		g.By = append(g.By, arg)
	}
	kind, meaning := l.Value.Kind, l.Value.Meaning
	if kind != reader.Int && kind != reader.Float {
		kind = reader.Uint
	}
	number := func(bits uint64) any {
		// A minimum or maximum can be a time that is only a bound.
		v, _ := event.NumberValue(kind, meaning, bits, 8).Any()
		return v
	}
	sum := words[codegen.WordSum]
	avg := float64(sum)
	switch i := int64(sum); kind {
	case reader.Float:
		avg = math.Ldexp(float64(i), -codegen.SumFraction)
		sum = math.Float64bits(avg)
	case reader.Int:
		avg = float64(i)
	}
	if l.Wanted.Sum {
		g.Sum = number(sum)
	}
	if l.Wanted.Avg {
		if avg /= float64(g.Count); meaning == reader.Duration {
			g.Avg = time.Duration(math.Round(avg))
		} else {
			g.Avg = avg
		}
	}
	if l.Wanted.Min {
		g.Min = number(unorder(^words[codegen.WordMin], kind, l.Value.Size))
	}
	if l.Wanted.Max {
		g.Max = number(unorder(words[codegen.WordMax], kind, l.Value.Size))
	}
	g.Hist, g.Meaning = bucketsOf(l, words[codegen.WordHist:]), meaning
	return g
}

// unorder undoes the order of minima and maxima. It returns the bits of a number of
// 64 bits.
func unorder(u uint64, kind reader.FieldKind, size uint8) uint64 {
	if kind == reader.Uint {
		return u
	}
	i := int64(u ^ 1<<63)
	if kind == reader.Int {
		return uint64(i)
	}
	if i < 0 {
		i ^= math.MaxInt64
	}
	if size == 4 {
		return math.Float64bits(float64(math.Float32frombits(uint32(uint64(i) >> 32))))
	}
	return uint64(i)
}

// errNoPID is why the key of a group by pid or tid is missing.
var errNoPID = errors.New("it has no PID in the PID namespace of the tracer")

// decodePart sets the value of a part of a key.
func decodePart(p *codegen.Part, arg *event.Arg, b []byte, probes []*reader.Probe) {
	switch {
	case p.In.Source == codegen.InputProbe:
		probe := probes[binary.NativeEndian.Uint64(b)]
		arg.Value = site.Name(probe)
	case p.Size == codegen.KeyComm:
		arg.Value = unix.ByteSliceToString(b)
	case p.Size == codegen.KeyStringSize:
		n := binary.NativeEndian.Uint64(b)
		str := b[codegen.StringData:][:min(n, codegen.KeyString)]
		value := event.BytesValue(p.In.Kind, p.In.Meaning, str, nil)
		if n > codegen.KeyString {
			value = event.TruncatedValue(p.In.Kind, p.In.Meaning, str)
		}
		arg.Value, arg.Err = value.Any()
	default:
		u := binary.NativeEndian.Uint64(b)
		if u == 0 && (arg.Name == "pid" || arg.Name == "tid") {
			arg.Err = errNoPID
			break
		}
		size := uint8(8)
		if p.In.Kind == reader.Float && p.In.Size == 4 {
			u, size = u>>32, 4
		}
		arg.Value, arg.Err = event.NumberValue(p.In.Kind, p.In.Meaning, u, size).Any()
	}
}
