package recorded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

type (
	id    [16]byte
	code  int16
	named string
	flags []byte
	took  time.Duration
	since time.Time

	point struct{ X, Y int32 }
	empty struct{}
	Base  struct {
		Host string
		Port uint16
	}
	item struct {
		Name string
		Tags []string
		At   time.Time
		From netip.Addr
	}
	nested struct {
		Points []point
		Grid   [2][3]int8
		Items  []item
		Pairs  [2]item
		IDs    []id
		Names  []string
		Voids  []struct{}
		Large  [][4000]uint32
		Errs   [2]provider.Text
	}
	rows struct {
		Each [2][]item
		Rows [][]int64
		Deep [][]string
	}
	numbers struct {
		I8   int8
		I16  int16
		I32  int32
		I64  int64
		I    int
		U8   uint8
		U16  uint16
		U32  uint32
		U64  uint64
		U    uint
		P    uintptr
		F32  float32
		F64  float64
		B    bool
		Code code
		Took took
		D    time.Duration
		T    time.Time
		S    since
	}
	texts struct {
		S     string
		N     named
		B     []byte
		F     flags
		Text  provider.Text
		Hex   provider.Hex
		UTF8  provider.UTF8
		JSON  json.RawMessage
		IP    net.IP
		MAC   net.HardwareAddr
		IPs   []net.IP
		Addr  netip.Addr
		Port  netip.AddrPort
		ID    id
		Short [3]byte
		None  [0]byte
		Void  empty
		Zero  [0]int32
		Flags [4]bool
		Small [4]int8
	}
	tagged struct {
		Base
		*point
		Renamed int    `usdt:"other"`
		Left    string `usdt:"-"`
		hidden  int
		shown   int8    `usdt:"shown"`
		Sum     []byte  `usdt:"hex"`
		Body    []byte  `usdt:"body,text"`
		Raw     [4]byte `usdt:"bytes"`
		Name    [8]byte `usdt:"text"`
		Key     string  `usdt:",hex"`
		Keys    []string
		Next    *tagged
		Kids    []tagged
	}
)

// fill sets a value to a random one.
func fill(r *rand.Rand, v reflect.Value) {
	bytes := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	switch v.Interface().(type) {
	case provider.Text:
		v.Set(reflect.ValueOf([]provider.Text{{}, provider.Error(nil), provider.Error(io.EOF), provider.Stringer(time.Second), provider.As(7, func(n int) string { return fmt.Sprint(n, "\x00") })}[r.IntN(5)]))
		return
	case time.Time, since:
		times := []time.Time{{}, time.Unix(r.Int64N(1<<33), r.Int64N(1e9)), time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Now().In(time.FixedZone("", 3600))}
		v.Set(reflect.ValueOf(times[r.IntN(len(times))]).Convert(v.Type()))
		return
	case netip.Addr:
		a, _ := netip.AddrFromSlice(bytes([]int{0, 4, 16}[r.IntN(3)]))
		v.Set(reflect.ValueOf(a))
		return
	case netip.AddrPort:
		v.Set(reflect.ValueOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte(bytes(4))), uint16(r.Uint32()))))
		return
	case [][4000]uint32: // whose elements are too large to be read
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		return
	case net.IP:
		ips := []net.IP{nil, net.IPv6loopback, net.IPv4(10, 0, 0, 1), bytes(4), bytes(5)}
		v.Set(reflect.ValueOf(ips[r.IntN(len(ips))]))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(r, f)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Slice:
		most := 12
		if v.Type() == reflect.TypeFor[[]tagged]() {
			most = 3 - r.IntN(3) // of which each may have some: they end somewhere
		}
		if n := r.IntN(most); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n))
		}
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.String:
		v.SetString([]string{"", "nul \x00", "grün", strings.Repeat("x", 1100), "\xff\xfe", string(bytes(40))}[r.IntN(6)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) > 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1.5, math.Inf(-1), -r.Float64(), math.MaxFloat32, math.Copysign(0, -1)}[r.IntN(6)])
	case reflect.Pointer:
		if r.IntN(4) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
		}
	default:
		if v.CanInt() {
			v.SetInt(int64(r.Uint64() >> r.IntN(64)))
		} else {
			v.SetUint(r.Uint64() >> r.IntN(64))
		}
	}
}

// random returns a random value.
func random[T any](r *rand.Rand) *T {
	v := new(T)
	fill(r, reflect.ValueOf(v).Elem())
	if tv, ok := any(v).(*tagged); ok {
		tv.hidden, tv.shown = 1, int8(r.Uint32())
	}
	return v
}

// record declares a probe of a record, and returns a function that fires random ones.
func record[T any](p *provider.Provider, name string) func(r *rand.Rand) {
	probe := provider.NewStructProbe[T](p, name)
	return func(r *rand.Rand) {
		probe.Fire(random[T](r))
		probe.FireFunc(func() T { return *random[T](r) })
		if r.IntN(8) == 0 {
			probe.Fire(nil)
		}
	}
}

// probes declares probes of arguments of all kinds, and returns functions that fire them.
func probes(p *provider.Provider) []func(r *rand.Rand) {
	none := provider.NewProbe0(p, "none")
	grouped := provider.NewProbe1[int](p.Group("g"), "grouped", "n")
	small := provider.NewProbe6[int8, uint16, int32, code, bool, float32](p, "small", "a", "b", "c", "d", "e", "f")
	large := provider.NewProbe6[int64, uint64, uintptr, float64, time.Duration, time.Time](p, "large", "a", "b", "c", "d", "e", "f")
	text := provider.NewProbe5[string, named, []byte, flags, provider.Text](p, "text", "a", "b", "c", "d", "e")
	bytes := provider.NewProbe6[id, [0]byte, provider.Hex, provider.UTF8, json.RawMessage, net.HardwareAddr](p, "bytes", "a", "b", "c", "d", "e", "f")
	addresses := provider.NewProbe3[provider.IP, net.IP, provider.Text](p, "addresses", "a", "b", "err")
	return []func(r *rand.Rand){
		func(r *rand.Rand) { none.Fire(); grouped.Fire(r.Int()) },
		func(r *rand.Rand) {
			n := random[numbers](r)
			small.Fire(n.I8, n.U16, n.I32, n.Code, n.B, n.F32)
			large.Fire(n.I64, n.U64, n.P, n.F64, n.D, n.T)
			large.FireFunc(func() (int64, uint64, uintptr, float64, time.Duration, time.Time) {
				return n.I64, n.U64, n.P, n.F64, time.Duration(n.Took), time.Time(n.S)
			})
		},
		func(r *rand.Rand) {
			v := random[texts](r)
			text.Fire(v.S, v.N, v.B, v.F, v.Text)
			bytes.Fire(v.ID, v.None, v.Hex, v.UTF8, v.JSON, v.MAC)
			addresses.Fire(provider.Addr(v.Addr), v.IP, provider.Error(errors.New(v.S)))
		},
		record[numbers](p, "record_numbers"),
		record[texts](p, "record_texts"),
		record[nested](p, "record_nested"),
		record[rows](p, "record_rows"),
		record[tagged](p, "record_tagged"),
		record[item](p, "record_item"),
		record[empty](p, "record_empty"),
	}
}

// cut shortens what a test has recorded as tracers do, which keep so many bytes only.
func cut(recorded, traced []event.Arg) {
	for i := range min(len(recorded), len(traced)) {
		r, tr := &recorded[i], &traced[i]
		short := r.Err == nil && errors.Is(tr.Err, event.ErrTruncated)
		if short {
			r.Err = tr.Err
		}
		switch v := tr.Value.(type) {
		case string:
			if s, ok := r.Value.(string); ok && short {
				r.Value = s[:min(len(s), len(v))]
			}
		case event.Hex:
			if h, ok := r.Value.(event.Hex); ok && short {
				r.Value = h[:min(len(h), len(v))]
			}
		case event.List:
			if l, ok := r.Value.(event.List); ok {
				if short {
					r.Value = l[:min(len(l), len(v))]
				}
				cut(l, v)
			}
		case event.Struct:
			if s, ok := r.Value.(event.Struct); ok {
				cut(s, v)
			}
		}
	}
}

// TestRecorded fires probes of all kinds with random values, and compares what the test records
// with what a tracer of this process gets.
func TestRecorded(t *testing.T) {
	p := provider.New("recorded", &provider.Options{Local: true})
	defer p.Close()
	fire := probes(p)
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	o := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}, Via: attach.ViaLocal}}
	s, err := attach.Open(t.Context(), []string{"recorded:*"}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rec := providertest.Record(t, p)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		for _, f := range fire {
			f(r)
		}
	}
	want := fired.Traced(rec.All())
	defer time.AfterFunc(time.Minute, func() { s.Close() }).Stop()
	got := make([]event.Event, 0, len(want))
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, ev); len(got) == len(want) {
			break
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	same := cmp.Options{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
	}
	differ := map[string]bool{}
	for i := range got {
		cut(want[i].Args, got[i].Args)
		if d := cmp.Diff(got[i].Args, want[i].Args, same); (d != "" || got[i].Name != want[i].Name) && !differ[got[i].Name] {
			differ[got[i].Name] = true
			t.Errorf("seed %d, event %d of %s (-traced +recorded):\n%s", seed, i, got[i].Name, d)
		}
	}
}
