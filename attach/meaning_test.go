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
	probe := provider.NewProbe6[time.Duration, time.Time, provider.IP, int64, provider.IP, string](p, "dial", "took", "at", "peer", "n", "own", "text")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	own := netip.MustParseAddr("192.0.2.1")
	return func() {
		for i, d := range dials {
			probe.Fire(d.took, d.at, provider.Addr(d.peer), int64(i), provider.Addr(own), "text")
		}
	}
}

// TestMeanings checks that durations, times and addresses arrive complete and
// with their types, and are written as such.
func TestMeanings(t *testing.T) { sharedToo(t, checkMeanings) }

func checkMeanings(t *testing.T) {
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
func TestWhereMeanings(t *testing.T) { sharedToo(t, checkWhereMeanings) }

func checkWhereMeanings(t *testing.T) {
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
		s.Close()
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
		_, err := attach.Open(t.Context(), []string{"meanwhere:dial"}, by(t, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: where}))
		if w, ok := err.(*attach.WhereError); !ok || w.Msg != want {
			t.Errorf("%s: error %v, want %q", where, err, want)
		}
	}
}

// TestAggregateMeanings adds up durations, and groups by addresses and times.
func TestAggregateMeanings(t *testing.T) { everyWay(t, checkAggregateMeanings) }

func checkAggregateMeanings(t *testing.T) {
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
	if _, err := aggregateBy(t, t.Context(), selector, attach.Sum("at"), opts); err == nil {
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
