package attach_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// dial is what the tests fire.
type dial struct {
	took time.Duration
	at   time.Time
	peer netip.Addr
}

var dials = []dial{
	{1500 * time.Microsecond, time.Date(2025, 12, 31, 23, 59, 59, 999_999_999, time.UTC), netip.MustParseAddr("10.0.0.1")},
	{-time.Hour, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), netip.MustParseAddr("::1")},
	{0, time.Time{}, netip.Addr{}},
	{math.MaxInt64, time.Unix(0, 0), netip.MustParseAddr("::ffff:10.0.0.1")},
	{10 * time.Millisecond, time.Date(1969, 7, 20, 20, 17, 40, 0, time.UTC), netip.MustParseAddr("2001:db8::7")},
	{11 * time.Millisecond, time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), netip.MustParseAddr("255.255.255.255")},
	{12 * time.Millisecond, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), netip.MustParseAddr("10.0.0.2")},
}

func dialProvider(t *testing.T, name string) (fire func()) {
	t.Helper()
	p := provider.New(name, nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe6[time.Duration, time.Time, netip.Addr, int64, netip.Addr, string](p, "dial", "took", "at", "peer", "n", "own", "text")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	own := netip.MustParseAddr("192.0.2.1")
	return func() {
		for i, d := range dials {
			probe.Fire(d.took, d.at, d.peer, int64(i), own, "text")
		}
	}
}

// TestMeanings checks that durations, times and addresses arrive complete and
// with their types, and are written as such.
func TestMeanings(t *testing.T) {
	fire := dialProvider(t, "meaning")
	s := open(t, "meaning:dial", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	fire()
	events := drain(t, s)
	if len(events) != len(dials) {
		t.Fatalf("%d events, want %d", len(events), len(dials))
	}
	for i, ev := range events {
		d := dials[i]
		want := []any{d.took, d.at.UTC(), d.peer, int64(i), netip.MustParseAddr("192.0.2.1"), "text"}
		for j, a := range ev.Args {
			if j == 1 && (i == 5 || i == 6) { // beyond what 64 bits hold
				if y := a.Value.(time.Time).Year(); a.Err == nil || i == 5 && y != 1677 || i == 6 && y != 2262 {
					t.Errorf("event %d: time %v, error %v", i, a.Value, a.Err)
				}
				continue
			}
			if at, ok := a.Value.(time.Time); a.Err != nil || !ok && a.Value != want[j] || ok && !at.Equal(want[j].(time.Time)) {
				t.Errorf("event %d, %s: %v (%T), %v, want %v", i, a.Name, a.Value, a.Value, a.Err, want[j])
			}
		}
	}
	for i, want := range map[int]string{
		0: `{"took":1500000,"at":"2025-12-31T23:59:59.999999999Z","peer":"10.0.0.1","n":0,"own":"192.0.2.1","text":"text"}`,
		1: `{"took":-3600000000000,"at":"2026-01-01T00:00:00.000000000Z","peer":"::1","n":1,"own":"192.0.2.1","text":"text"}`,
		2: `{"took":0,"at":"0001-01-01T00:00:00.000000000Z","peer":null,"n":2,"own":"192.0.2.1","text":"text"}`,
	} {
		if got := argsJSON(t, &events[i]); got != want {
			t.Errorf("event %d as JSON:\n%s, want\n%s", i, got, want)
		}
	}
}

// meaningTests are conditions on dials, and the dials for which they hold.
var meaningTests = []struct {
	where string
	want  []int64
}{
	{"took > 10ms", []int64{3, 5, 6}},
	{"took >= 10ms && took < 1h", []int64{4, 5, 6}},
	{`took == "1.5ms"`, []int64{0}},
	{"took < 0", []int64{1}},
	{"took == 1500000", []int64{0}},
	{"-1h == took", []int64{1}},
	{`at > "2026-01-01"`, []int64{6}},
	{"at >= 2026-01-01", []int64{1, 6}},
	{"at >= 2025-12-31T23:59:59Z && at < 2026-01-01T00:00:00+00:00", []int64{0}},
	{"at == 0", []int64{3}},
	{"at < 1970-01-01", []int64{2, 4, 5}},
	{"at == 0001-01-01", []int64{2}},
	{`at != "0001-01-01" && at < "1700-01-01"`, []int64{5}},
	{`peer == "10.0.0.1"`, []int64{0}},
	{"peer == 10.0.0.1", []int64{0}},
	{`peer == "::1" || peer == 10.0.0.2`, []int64{1, 6}},
	{`peer == "::ffff:10.0.0.1"`, []int64{3}},
	{"peer != 10.0.0.1 && took != 0", []int64{1, 3, 4, 5, 6}},
	{"own == 192.0.2.1 && n == 4", []int64{4}},
}

// TestWhereMeanings compares durations, times and addresses in the kernel.
func TestWhereMeanings(t *testing.T) {
	fire := dialProvider(t, "meanwhere")
	for _, test := range meaningTests {
		s := open(t, "meanwhere:dial", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: test.where})
		fire()
		var got []int64
		for _, ev := range drain(t, s) {
			got = append(got, ev.Args[3].Value.(int64))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: events %v, want %v", test.where, got, test.want)
		}
	}
	for where, want := range map[string]string{
		"took > 10.0.0.1":  "took is a duration: compare it with one, such as 10ms",
		"took > 1.5":       "took is a duration: compare it with one, such as 10ms",
		`at == "soon"`:     `at is a time: compare it with one, such as 2026-01-31 or "2026-01-31T23:59:59Z"`,
		"peer == 10":       `peer is an address: compare it with one, such as 10.0.0.1 or "::1"`,
		"peer < 10.0.0.1":  "addresses are compared by == and != only",
		"n > 10ms":         "n is an integer, and is compared with a duration",
		"text == 10.0.0.1": "text is a string, and is compared with an address",
	} {
		_, err := attach.Open(t.Context(), []string{"meanwhere:dial"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: where})
		if w, ok := err.(*attach.WhereError); !ok || w.Msg != want {
			t.Errorf("%s: error %v, want %q", where, err, want)
		}
	}
}

// TestAggregateMeanings adds up durations, and groups by addresses and times.
func TestAggregateMeanings(t *testing.T) {
	fire := dialProvider(t, "meansum")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: "took >= 10ms && took < 1h"}
	selector := []string{"meansum:dial"}
	a := openAggregate(t, selector, attach.Hist("took").And(attach.Sum("took"), attach.Avg("took"), attach.Min("took"), attach.Max("took")), opts)
	fire()
	groups, err := a.Read()
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %v, %v", groups, err)
	}
	g := groups[0]
	if g.Sum != 33*time.Millisecond || g.Avg != 11*time.Millisecond || g.Min != 10*time.Millisecond || g.Max != 12*time.Millisecond || g.Meaning != reader.Duration {
		t.Errorf("sum %v, avg %v, min %v, max %v, %v", g.Sum, g.Avg, g.Min, g.Max, g.Meaning)
	}
	a = openAggregate(t, selector, attach.Min("at").And(attach.Max("at")).By("own", "peer"), &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	fire()
	if groups, err = a.Read(); err != nil || len(groups) != len(dials) {
		t.Fatalf("%d groups, want %d (%v)", len(groups), len(dials), err)
	}
	peers := map[any]time.Time{}
	for _, g := range groups {
		peers[g.By[1].Value] = g.Max.(time.Time)
	}
	want := map[any]time.Time{}
	for i, d := range dials {
		want[d.peer] = d.at.UTC()
		if i == 5 || i == 6 {
			want[d.peer] = peers[d.peer]
		}
	}
	if !reflect.DeepEqual(fmt.Sprint(peers), fmt.Sprint(want)) {
		t.Errorf("by peer %v, want %v", peers, want)
	}
	if _, err := attach.OpenAggregate(t.Context(), selector, attach.Sum("at"), opts); err == nil {
		t.Error("the sum of times is no error")
	}
}

// argsJSON returns the arguments of an event as JSON.
func argsJSON(t *testing.T, ev *event.Event) string {
	t.Helper()
	b, err := ev.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var parts struct{ Args json.RawMessage }
	if err := json.Unmarshal(b, &parts); err != nil {
		t.Fatal(err)
	}
	return string(parts.Args)
}

// TestRecordDurations checks durations wherever they lie in a record.
func TestRecordDurations(t *testing.T) {
	type inner struct{ Wait time.Duration }
	type record struct {
		Took  time.Duration
		In    inner
		Each  [2]time.Duration
		Slice []time.Duration
	}
	p := provider.New("meanrecord", nil)
	t.Cleanup(func() { p.Close() })
	rec := provider.NewRecord[record](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "meanrecord:record", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: "Took > 1s && In.Wait < 1ms && Each[1] == 3ms"})
	for took := range 3 * time.Second / time.Second {
		rec.Fire(&record{took * time.Second, inner{5}, [2]time.Duration{1, 3 * time.Millisecond}, []time.Duration{time.Hour, -1}})
	}
	events := drain(t, s)
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	if got, want := fmt.Sprint(values(events[0].Args)), "[2s [5ns] [1ns 3ms] [1h0m0s -1ns]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// dialed is a record with dials wherever they may lie.
type dialed struct {
	N     int64
	At    time.Time
	Peer  netip.Addr
	In    struct{ Peer netip.Addr }
	Each  [2]time.Time
	Hops  []netip.Addr
	Times []time.Time
	Deep  *struct {
		At   time.Time
		Peer netip.Addr
	}
	To    netip.AddrPort
	Net   netip.Prefix
	Named []struct {
		Host string
		At   netip.Addr
	}
}

func dialedProvider(t *testing.T, name string) (fire func()) {
	t.Helper()
	p := provider.New(name, nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewRecord[dialed](p, "dial")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	return func() {
		for i, d := range dials {
			r := dialed{N: int64(i), At: d.at, Peer: d.peer, Each: [2]time.Time{{}, d.at.In(time.FixedZone("", 3600))}}
			r.In.Peer, r.Hops, r.Times = d.peer, []netip.Addr{d.peer, netip.IPv6Unspecified(), {}}, []time.Time{d.at}
			r.To, r.Net = netip.AddrPortFrom(d.peer, 80), netip.PrefixFrom(d.peer, 8)
			if i != 0 {
				r.Deep = &struct {
					At   time.Time
					Peer netip.Addr
				}{d.at, d.peer.WithZone("eth0")}
			}
			r.Named = append(r.Named, struct {
				Host string
				At   netip.Addr
			}{"host", d.peer})
			probe.Fire(&r)
		}
	}
}

// TestRecordMeanings checks that times and addresses arrive as such wherever they
// lie in a record.
func TestRecordMeanings(t *testing.T) {
	fire := dialedProvider(t, "meanfields")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Follow: []string{"*"}}
	s := open(t, "meanfields:dial", opts)
	views := open(t, "meanfields:dial", opts)
	fire()
	events := drain(t, s)
	if len(events) != len(dials) {
		t.Fatalf("%d events, want %d", len(events), len(dials))
	}
	for i, ev := range events {
		d := dials[i]
		at := fmt.Sprint(d.at.UTC())
		switch i {
		case 5:
			at = fmt.Sprint(time.Unix(0, math.MinInt64+1).UTC())
		case 6:
			at = fmt.Sprint(time.Unix(0, math.MaxInt64).UTC())
		}
		deep := fmt.Sprintf("[%v %v]", at, d.peer)
		if i == 0 {
			deep = "<nil>"
		}
		bits := uint64(netip.PrefixFrom(d.peer, 8).Bits() + 1)
		want := fmt.Sprintf("[%d %s %v [%v] [%v %s] [%v :: invalid IP] [%s] %s [%v 80] [%v %d] [[host %v]]]",
			i, at, d.peer, d.peer, time.Time{}, at, d.peer, at, deep, d.peer, d.peer, bits, d.peer)
		if got := fmt.Sprint(values(ev.Args)); got != want {
			t.Errorf("event %d:\n%s, want\n%s", i, got, want)
		}
		if late := i == 5 || i == 6; (ev.Args[1].Err != nil) != late {
			t.Errorf("event %d: error %v of its time", i, ev.Args[1].Err)
		}
	}
	const want = `{"N":1,"At":"2026-01-01T00:00:00.000000000Z","Peer":"::1","In":{"Peer":"::1"},` +
		`"Each":["0001-01-01T00:00:00.000000000Z","2026-01-01T00:00:00.000000000Z"],"Hops":["::1","::",null],` +
		`"Times":["2026-01-01T00:00:00.000000000Z"],"Deep":{"At":"2026-01-01T00:00:00.000000000Z","Peer":"::1"},` +
		`"To":{"ip":"::1","port":80},"Net":{"ip":"::1","bitsPlusOne":9},"Named":[{"Host":"host","At":"::1"}]}`
	if got := argsJSON(t, &events[1]); got != want {
		t.Errorf("as JSON:\n%s, want\n%s", got, want)
	}
	n := 0
	for v, err := range views.Views() {
		if err != nil {
			t.Fatal(err)
		}
		at, _ := v.Lookup("At")
		peer, _ := v.Lookup("Peer")
		to, _ := v.Lookup("To.ip")
		own, _ := netip.AddrFromSlice(peer.Bytes())
		if n != 5 && n != 6 && n != 2 && at.Int() != dials[n].at.UnixNano() || at.Meaning != reader.Time || own != dials[n].peer || string(to.Bytes()) != string(peer.Bytes()) || peer.Meaning != reader.Address {
			t.Errorf("view %d: at %d, peer %v, to %v", n, at.Int(), own, to.Bytes())
		}
		if n++; n == len(dials) {
			break
		}
	}
}

// TestWhereRecordMeanings compares times and addresses of records in the kernel.
func TestWhereRecordMeanings(t *testing.T) {
	fire := dialedProvider(t, "meanfieldswhere")
	for where, want := range map[string][]int64{
		`At > "2026-01-01"`: {6},
		"At >= 2026-01-01":  {1, 6},
		"At >= 2025-12-31T23:59:59Z && Each[1] < 2026-01-01": {0},
		"At == 0":          {3},
		"At < 1970-01-01":  {2, 4, 5},
		"At == 0001-01-01": {2},
		`At != "0001-01-01" && At < "1700-01-01"`:     {5},
		`Peer == "10.0.0.1"`:                          {0},
		`Peer == "::1" || In.Peer == 10.0.0.2`:        {1, 6},
		`Peer == "::ffff:10.0.0.1"`:                   {3},
		"Peer != 10.0.0.1 && N != 2":                  {1, 3, 4, 5, 6},
		"To.ip == 255.255.255.255 && To.port == 80":   {5},
		`Net.ip == "2001:db8::7"`:                     {4},
		`Deep.Peer == "::1" && Deep.At == 2026-01-01`: {1},
		"Each[0] == 0001-01-01 && Each[1] == 0":       {3},
	} {
		s := open(t, "meanfieldswhere:dial", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: where})
		fire()
		var got []int64
		for _, ev := range drain(t, s) {
			got = append(got, ev.Args[0].Value.(int64))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: events %v, want %v", where, got, want)
		}
	}
}

// TestAggregateRecordMeanings groups by times and addresses of records.
func TestAggregateRecordMeanings(t *testing.T) {
	fire := dialedProvider(t, "meanfieldsby")
	a := openAggregate(t, []string{"meanfieldsby:dial"}, attach.Min("At").And(attach.Max("At")).By("Peer", "Each[1]", "Deep.Peer"), &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	fire()
	groups, err := a.Read()
	if err != nil || len(groups) != len(dials) {
		t.Fatalf("%d groups, want %d (%v)", len(groups), len(dials), err)
	}
	for _, g := range groups {
		i := slices.IndexFunc(dials, func(d dial) bool { return d.peer == g.By[0].Value })
		if i < 0 {
			t.Errorf("a group of %v", g.By[0].Value)
			continue
		}
		if i != 5 && i != 6 && (!g.Max.(time.Time).Equal(dials[i].at) || g.By[1].Value != g.Max) || g.Min != g.Max {
			t.Errorf("%v: from %v to %v, by %v, want %v", g.By[0].Value, g.Min, g.Max, g.By[1].Value, dials[i].at)
		}
		if deep := g.By[2].Value; i == 0 && deep != nil || i != 0 && deep != dials[i].peer {
			t.Errorf("%v: behind a pointer %v", g.By[0].Value, deep)
		}
	}
}

// values returns the values of arguments, without their names.
func values(args []event.Arg) (out []any) {
	for _, a := range args {
		switch v := a.Value.(type) {
		case event.Struct:
			out = append(out, values(v))
		case event.List:
			out = append(out, values(v))
		default:
			out = append(out, v)
		}
	}
	return out
}
