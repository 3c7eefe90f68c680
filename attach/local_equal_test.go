package attach_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

type (
	kindEnum  uint8
	kindName  string
	kindPoint struct {
		X, Y int16
		Name string
	}
	kindRecord struct {
		I8       int8
		U8       uint8
		I16      int16
		U16      uint16
		I32      int32
		U32      uint32
		I64      int64
		U64      uint64
		Int      int
		Uint     uint
		Address  uintptr
		F32      float32
		F64      float64
		Yes      bool
		Text     string
		Name     kindName
		Bytes    []byte
		Took     time.Duration
		At       time.Time
		Peer     netip.Addr
		Err      provider.Text
		Point    kindPoint
		Next     *kindPoint
		Self     *kindRecord
		Points   []kindPoint
		Numbers  []float32
		Names    []string
		Array    [3]int8
		Enums    []kindEnum
		Pointers []*kindPoint
		Hosts    [2]netip.Addr
	}
)

// everyKind declares probes of each kind of argument, and returns a function that fires
// them.
func everyKind(t testing.TB) (fire func()) {
	t.Helper()
	p := provider.New("everykind", &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	signed := provider.NewProbe6[int8, int16, int32, int64, int, time.Duration](p, "signed", "i8", "i16", "i32", "i64", "i", "took")
	unsigned := provider.NewProbe6[uint8, uint16, uint32, uint64, uint, uintptr](p, "unsigned", "u8", "u16", "u32", "u64", "u", "address")
	others := provider.NewProbe4[float32, float64, bool, kindEnum](p, "others", "f32", "f64", "yes", "level")
	text := provider.NewProbe6[string, kindName, []byte, provider.Text, provider.Text, provider.Text](p, "text", "s", "name", "bytes", "err", "stringer", "as")
	values := provider.NewProbe4[time.Time, provider.IP, provider.IP, int64](p, "values", "at", "addr", "ip", "n")
	record := provider.NewStructProbe[kindRecord](p, "record")
	bare := provider.NewProbe0(p, "bare")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "short", "with\x00zero", "\xff\xfe no UTF-8 \xc3", "ünïcode ☃", strings.Repeat("0123456789", 1000), strings.Repeat("é", 512), "\x1b[31m\n\t\"\\"}
	point := &kindPoint{-1, 2, "point"}
	whole := &kindRecord{
		I8: -8, U8: 200, I16: -1600, U16: 60000, I32: math.MinInt32, U32: math.MaxUint32, I64: math.MinInt64, U64: math.MaxUint64,
		Int: -1, Uint: 1, Address: 0xdead, F32: -1.5, F64: math.Pi, Yes: true, Text: "text", Name: "name", Bytes: []byte{0, 1, 255},
		Took: time.Second, At: time.Unix(1, 2).UTC(), Peer: netip.MustParseAddr("::1"), Err: provider.Error(fs.ErrNotExist),
		Point: *point, Next: point, Points: []kindPoint{*point, {}, {3, 4, strings.Repeat("p", 300)}}, Numbers: []float32{1, float32(math.Inf(1))},
		Names: []string{"a", "", "ccc"}, Array: [3]int8{1, -2, 3}, Enums: []kindEnum{1, 2}, Pointers: []*kindPoint{point, nil},
		Hosts: [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1")},
	}
	whole.Self = whole
	long := &kindRecord{Text: texts[5], Bytes: []byte(texts[5]), Numbers: make([]float32, 3000), Names: slices.Repeat([]string{"n"}, 40)}
	return func() {
		signed.Fire(math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, math.MinInt, math.MinInt64)
		signed.Fire(math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxInt64, math.MaxInt, math.MaxInt64)
		signed.Fire(-1, 0, 1, -2, 2, time.Millisecond)
		unsigned.Fire(math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, math.MaxUint, math.MaxUint64)
		unsigned.Fire(0, 1, 2, 3, 4, 5)
		for _, f := range []float64{0, math.Copysign(0, -1), 1.5, -0.1, math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat64, math.MaxFloat64} {
			others.Fire(float32(f), f, f > 0, kindEnum(len(texts)))
		}
		for i, s := range texts {
			text.Fire(s, kindName(s), []byte(s), provider.Error(errors.New(s)), provider.Stringer(time.Duration(i)), provider.As(s, func(s string) string { return s + "!" }))
		}
		text.Fire("", "", nil, provider.Error(nil), provider.Stringer((*ticket)(nil)), provider.Text{})
		for i, d := range dials {
			values.Fire(d.at, provider.Addr(d.peer), provider.Addr(dials[len(dials)-1-i].peer), int64(i))
		}
		for _, r := range []*kindRecord{whole, {}, long, nil} {
			record.Fire(r)
		}
		bare.Fire()
	}
}

// both opens what open opens, via the kernel and through shared memory.
func both[T any](t testing.TB, o attach.Options, open func(*attach.Options) (T, error)) (two [2]T) {
	t.Helper()
	for i, via := range []attach.Via{attach.ViaKernel, attach.ViaLocal} {
		o := o
		o.Target.Via = via
		var err error
		if two[i], err = open(&o); err != nil {
			needPrivileges(t, err)
			t.Fatalf("via %v: %v", via, err)
		}
	}
	return two
}

// own are options to trace this process.
func own() attach.Options { return attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}} }

// TestEqualEvents compares the JSON of the same firings of every kind of argument by both
// ways, as events and as views, with conditions of every kind.
func TestEqualEvents(t *testing.T) {
	fire := everyKind(t)
	wheres := map[string][]string{
		"signed":   {"i8 < 0", "i16 == -32768", "i32 != 1", "i64 >= -2", "i <= 2 && i8 != 127", "took > 0s", "took == 1ms || i8 == 127", "!(i64 > 0)", "i8 > 4294967296"},
		"unsigned": {"u8 == 255", "u16 < 2", "u32 >= 0x80000000", "u64 == 18446744073709551615", "u > -1", "address != 5", "u8 != 255 || u64 == 3", "!(u8 == 0 && u16 == 1)"},
		"others":   {"f32 > 0", "f64 >= 0", "f64 != 0", "f32 == -0.1", "f64 < 1e308", "yes", "!yes && f64 == 0", "level == 8", "f32 <= 1.5 || yes", "!(f64 < 0)"},
		"text":     {`s == "short"`, `s != ""`, `s ~ "*9*"`, `name == "with\x00zero"`, `bytes ~ "\xff*"`, `err ~ "*é*"`, `as ~ "*!"`, `stringer == "3ns"`, `s == "" || s ~ "ü*"`, `!(s == "")`, `comm ~ "*" && s != "x"`},
		"values":   {"at > 1970-01-01", "addr == 10.0.0.1", `ip != "::1"`, "n > 2 && at < 2026-06-01", `addr == "::ffff:10.0.0.1" || n == 0`},
		"record":   {`I8 == -8 && F32 < 0 && Text == "text"`, `Point.Name == "point" && Took == 1s`, "Next.X == -1 || Array[1] == 9", "Self.Next.Y == 2", `Peer == "::1" && Err ~ "*not exist"`},
		"bare":     {"pid > 0"},
	}
	wheres["*"] = []string{""}
	for name, conditions := range wheres {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				conditions = conditions[:min(len(conditions), 2)]
			}
			for some := range slices.Chunk(conditions, 7) { // a process admits 16 tracers
				var all []*equalSessions
				for _, where := range some {
					all = append(all, openEqual(t, name, where))
				}
				fire()
				for _, e := range all {
					e.compare(t)
				}
				var closing sync.WaitGroup // the kernel takes its time for each
				for _, e := range all {
					for _, s := range append(e.events[:], e.views) {
						closing.Go(func() { s.Close() })
					}
				}
				closing.Wait()
			}
		})
	}
}

// equalSessions are sessions that get the same events.
type equalSessions struct {
	where  string
	events [2]*attach.Session // via the kernel and through shared memory
	views  *attach.Session    // through shared memory
}

func openEqual(t *testing.T, name, where string) *equalSessions {
	t.Helper()
	o := own()
	o.Where = where
	what := &attach.EventOptions{RingSize: 1 << 20}
	if name == "text" {
		what.MaxString = notes.MaxString
	}
	if name == "record" || name == "*" {
		o.Follow = []string{"Next", "Self", "everykind:record:Self.Next"}
	}
	e := &equalSessions{where: where}
	open := func(o *attach.Options) (*attach.Session, error) {
		return attach.OpenEvents(t.Context(), []string{"everykind:" + name}, what, o)
	}
	e.events = both(t, o, open)
	o.Target.Via = attach.ViaLocal
	var err error
	if e.views, err = open(&o); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *equalSessions) compare(t *testing.T) {
	var texts [3][]string
	var stats [3]attach.Stats
	for i, s := range e.events {
		for _, ev := range drain(t, s) {
			texts[i] = append(texts[i], asJSON(t, ev))
		}
		stats[i] = checkSum(t, s)
	}
	if err := e.views.Stop(); err != nil {
		t.Fatal(err)
	}
	for v, err := range e.views.Views() {
		if err != nil {
			t.Fatal(err)
		}
		ev, _ := v.Event()
		texts[2] = append(texts[2], asJSON(t, ev))
	}
	stats[2] = checkSum(t, e.views)
	if len(texts[0]) == 0 && e.where != "i8 > 4294967296" {
		t.Errorf("%s: no event passes", e.where)
	}
	for i, way := range []string{"events through shared memory", "views"} {
		if d := cmp.Diff(texts[0], texts[1+i]); d != "" {
			t.Errorf("%s: events via the kernel, and %s (-kernel):\n%.5000s", e.where, way, d)
		}
		if stats[1+i] != stats[0] {
			t.Errorf("%s: stats %+v of %s, want %+v", e.where, stats[1+i], way, stats[0])
		}
	}
}

// TestEqualPlans compares what is said of sites both ways.
func TestEqualPlans(t *testing.T) {
	everyKind(t)
	o := own()
	o.Where = "pid > 0"
	two := both(t, o, func(o *attach.Options) (*attach.Session, error) {
		return attach.Open(t.Context(), []string{"everykind:record", "everykind:bare"}, o)
	})
	var plans [2][]string
	for i, s := range two {
		for _, site := range s.Plan() {
			if site.Local != (i == 1) {
				t.Errorf("site %+v", site)
			}
			plans[i] = append(plans[i], fmt.Sprint(site.Probe.Provider, ":", site.Probe.Name, " ", site.PID, site.Path, site.Offset, site.Attached, site.Reason))
		}
		s.Close()
	}
	if d := cmp.Diff(plans[0], plans[1]); d != "" {
		t.Errorf("plans (-kernel +local):\n%s", d)
	}
}

// TestEqualGroups compares what is added up of the same firings both ways: functions of
// values of every kind, by keys of every kind, with conditions, and with too few groups.
func TestEqualGroups(t *testing.T) {
	fire := everyKind(t)
	for i, test := range []struct {
		name, where string
		what        attach.Aggregation
	}{
		{"*", "", attach.Count()},
		{"*", "", attach.Count().By("probe", "pid", "comm")},
		{"signed", "", attach.Hist("i8").And(attach.Sum("i8"), attach.Avg("i8"), attach.Min("i8"), attach.Max("i8"))},
		{"signed", "", attach.Hist("i64").And(attach.Sum("i64"), attach.Min("i64"), attach.Max("i64")).By("i16", "i32")},
		{"signed", "i < 0", attach.Hist("took").And(attach.Sum("took"), attach.Avg("took")).By("took")},
		{"unsigned", "", attach.Hist("u64").And(attach.Sum("u64"), attach.Min("u64"), attach.Max("u64"), attach.Avg("u64")).By("u8", "address")},
		{"unsigned", "u16 != 1", attach.Sum("u32").By("u", "u16")},
		{"others", "", attach.Hist("f32").And(attach.Min("f32"), attach.Max("f32")).By("yes")},
		{"others", "", attach.Hist("f64").And(attach.Sum("f64"), attach.Avg("f64"), attach.Min("f64"), attach.Max("f64"))},
		{"others", "", attach.Count().By("f64", "f32", "level")},
		{"others", "", attach.Hist("f64").Bounds(-1, 0, 0.5, 2, 1e300).By("yes")},
		{"signed", "", attach.Quantiles("i64", 0, 50, 99, 100).And(attach.Stddev("i64"), attach.Hist("i64")).By("probe")},
		{"signed", "", attach.Quantiles("i8", 0, 20, 40, 60, 80, 100).And(attach.Stddev("i8"), attach.Min("i8"), attach.Max("i8"))},
		{"signed", "", attach.Quantiles("took", 0, 50, 100).And(attach.Stddev("took")).By("i16")},
		{"unsigned", "", attach.Quantiles("u64", 0, 50, 100).And(attach.Stddev("u64"), attach.Hist("u64")).Bounds(1, 2, 3)},
		{"others", "", attach.Quantiles("f64", 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100).And(attach.Stddev("f64"), attach.Hist("f64"))},
		{"others", "", attach.Quantiles("f32", 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100).By("yes")},
		{"text", "", attach.Count().By("s")},
		{"text", "", attach.Count().By("name", "bytes")},
		{"text", `s ~ "*9*" || s == "short"`, attach.Count().By("err", "as")},
		{"text", "", attach.Count().By("stringer").MaxGroups(3)},
		{"values", "", attach.Min("at").And(attach.Max("at")).By("addr")},
		{"values", "", attach.Hist("n").Bounds(0, 2, 4, 6).By("ip", "at")},
		{"values", "", attach.Count().By("n").MaxGroups(2)},
		{"record", "", attach.Sum("I8").By("Text", "Next.Name", "Self.Point.X", "Err")},
		{"record", "U8 > 0", attach.Hist("F32").And(attach.Sum("F32")).By("Peer", "At", "Array[2]", "Point.Name")},
		{"record", "", attach.Sum("Next.X").By("Yes")}, // which some lack
		{"record", "", attach.Count().By("Self.Self.Next.Y", "Took").MaxGroups(1)},
	} {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(fmt.Sprint(i, " ", test.name, " ", test.where), func(t *testing.T) {
			o := own()
			o.Where = test.where
			two := both(t, o, func(o *attach.Options) (*attach.Aggregate, error) {
				return attach.OpenAggregate(t.Context(), []string{"everykind:" + test.name}, test.what, o)
			})
			var groups [2][]string
			var stats [2]attach.Stats
			fire()
			fire()
			for i, a := range two {
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				groups[i] = groupsOf(t, a)
				stats[i] = checkSum(t, a)
				a.Close()
			}
			if d := cmp.Diff(groups[0], groups[1]); d != "" || len(groups[0]) == 0 {
				t.Errorf("groups %s (-kernel +local):\n%s", groups[0], d)
			}
			if stats[0] != stats[1] {
				t.Errorf("stats %+v via the kernel, and %+v", stats[0], stats[1])
			}
		})
	}
}
