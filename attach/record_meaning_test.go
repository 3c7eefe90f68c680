package attach_test

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// TestRecordDurations checks durations wherever they lie in a record.
func TestRecordDurations(t *testing.T) { sharedToo(t, checkRecordDurations) }

func checkRecordDurations(t *testing.T) {
	type inner struct{ Wait time.Duration }
	type record struct {
		Took  time.Duration
		In    inner
		Each  [2]time.Duration
		Slice []time.Duration
	}
	p := provider.New("meanrecord", nil)
	t.Cleanup(func() { p.Close() })
	rec := provider.NewStructProbe[record](p, "record")
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
	probe := provider.NewStructProbe[dialed](p, "dial")
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
func TestRecordMeanings(t *testing.T) { sharedToo(t, checkRecordMeanings) }

func checkRecordMeanings(t *testing.T) {
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
func TestWhereRecordMeanings(t *testing.T) { sharedToo(t, checkWhereRecordMeanings) }

func checkWhereRecordMeanings(t *testing.T) {
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
func TestAggregateRecordMeanings(t *testing.T) { everyWay(t, checkAggregateRecordMeanings) }

func checkAggregateRecordMeanings(t *testing.T) {
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
