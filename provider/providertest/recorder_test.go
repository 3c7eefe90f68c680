package providertest_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-usdt/usdt/event/args"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// values formats the values of arguments, including those of records.
func values(all []args.Arg) string {
	var b strings.Builder
	for i, a := range all {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch v := a.Value.(type) {
		case args.Struct:
			fmt.Fprintf(&b, "{%s}", values(v))
		case args.List:
			fmt.Fprintf(&b, "[%s]", values(v))
		case string, []byte:
			fmt.Fprintf(&b, "%q", v)
		default:
			fmt.Fprint(&b, v)
		}
		if a.Err != nil {
			fmt.Fprintf(&b, "(%v)", a.Err)
		}
	}
	return b.String()
}

// check compares events with what is wanted.
func check(t *testing.T, events []providertest.Event, want ...string) {
	t.Helper()
	var got []string
	for _, ev := range events {
		got = append(got, ev.Provider+":"+ev.Name+" "+values(ev.Args))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// TestKinds checks arguments of every kind, in loaded probes and others.
func TestKinds(t *testing.T) {
	p := provider.New("rectestkinds", nil)
	numbers := provider.NewProbe6[int8, uint16, int, uint64, bool, float64](p, "numbers", "a", "b", "c", "d", "e", "f")
	text := provider.NewProbe6[string, []byte, time.Duration, time.Time, provider.IP, provider.Text](p, "text", "s", "b", "took", "at", "peer", "err")
	none := provider.NewProbe0(p, "none")
	fire := func() {
		numbers.Fire(-1, 65535, -7, 1<<63, true, 1.5)
		at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
		text.Fire("nul \x00 "+strings.Repeat("x", 300), []byte{0, 255}, time.Second, at, provider.Addr(netip.MustParseAddr("10.0.0.1")), provider.Error(os.ErrClosed))
		text.Fire("", nil, 0, time.Time{}, provider.IP{}, provider.Text{})
		none.Fire()
	}
	want := []string{
		"rectestkinds:numbers -1 65535 -7 9223372036854775808 true 1.5",
		`rectestkinds:text "nul \x00 ` + strings.Repeat("x", 300) + `" "\x00\xff" 1s 2026-01-02 02:04:05.000000006 +0000 UTC 10.0.0.1 "file already closed"`,
		`rectestkinds:text "" "" 0s 0001-01-01 00:00:00 +0000 UTC invalid IP ""`,
		"rectestkinds:none ",
	}
	rec := providertest.Record(t, p)
	fire()
	check(t, rec.All(), want...)
	check(t, rec.Events("text"), want[1:3]...)
	rec.Reset()
	check(t, rec.All())
	if err := p.Load(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	fire()
	check(t, rec.All(), want...)
	rec.Reset()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	fire()
	check(t, rec.All(), want...)
}

// TestAddresses checks that addresses arrive as netip has them, except for zones, and that one
// which cannot be read does not end the program.
func TestAddresses(t *testing.T) {
	type peer struct {
		netip.Addr
		name string
	}
	p := provider.New("rectestaddresses", nil)
	probe := provider.NewProbe1[provider.IP](p, "peer", "addr")
	rec := providertest.Record(t, p)
	for _, a := range []string{"0.0.0.0", "192.0.2.1", "::", "2001:db8::7", "::ffff:10.0.0.1", "fe80::1%eth0"} {
		probe.Fire(provider.Addr(netip.MustParseAddr(a)))
	}
	probe.Fire(provider.Addr(netip.Addr{}))
	probe.Fire(provider.Addr(peer{netip.MustParseAddr("10.0.0.9"), "nine"}))
	probe.Fire(provider.Addr((*netip.Addr)(nil)))
	check(t, rec.All(), "rectestaddresses:peer 0.0.0.0", "rectestaddresses:peer 192.0.2.1", "rectestaddresses:peer ::",
		"rectestaddresses:peer 2001:db8::7", "rectestaddresses:peer ::ffff:10.0.0.1", "rectestaddresses:peer fe80::1",
		"rectestaddresses:peer invalid IP", "rectestaddresses:peer 10.0.0.9", "rectestaddresses:peer invalid IP")
}

type point struct{ X, Y int32 }

type shipment struct {
	ID     uint64
	To     string
	Boxes  []point
	Named  []struct{ Name string }
	At     time.Time
	From   netip.Addr
	Err    provider.Text
	Corner [2]point
	Next   *shipment
}

// TestRecords checks records: nested ones and those with slices, also of elements
// that have strings.
func TestRecords(t *testing.T) {
	p := provider.New("rectestrecords", nil)
	ship := provider.NewStructProbe[shipment](p, "ship")
	rec := providertest.Record(t, p)
	s := shipment{
		ID: 1, To: "home", Boxes: []point{{1, 2}, {3, 4}}, Named: []struct{ Name string }{{"a"}, {""}, {"ccc"}},
		At: time.Unix(0, 1e9).UTC(), From: netip.MustParseAddr("::1"), Err: provider.Error(os.ErrExist), Corner: [2]point{{5, 6}, {7, 8}},
	}
	ship.Fire(&s)
	ship.Fire(&shipment{})
	ship.Fire(nil)
	s.To, s.Boxes[0].X, s.Named[0].Name = "changed", 99, "changed"
	const fault = "<nil>(the record is nil)"
	check(t, rec.Events("ship"),
		`rectestrecords:ship 1 "home" [{1 2} {3 4}] [{"a"} {""} {"ccc"}] 1970-01-01 00:00:01 +0000 UTC ::1 "file already exists" [{5 6} {7 8}] 0`,
		`rectestrecords:ship 0 "" [] [] 0001-01-01 00:00:00 +0000 UTC invalid IP "" [{0 0} {0 0}] 0`,
		"rectestrecords:ship "+strings.Repeat(fault+" ", 8)+fault)
}

// TestLater checks that probes can be declared, loaded, closed and loaded again while
// they are recorded, and that Enabled afterwards returns what it returned before.
func TestLater(t *testing.T) {
	p := provider.New("rectestlater", nil)
	g := p.Group("g")
	first := provider.NewProbe1[int](g, "first", "n")
	var all []*provider.Probe1[int]
	enabled := func(want bool) {
		t.Helper()
		for i, pr := range all {
			if pr.Enabled() != want {
				t.Errorf("probe %d: enabled is %v", i, !want)
			}
		}
		if p.Enabled() != want || g.Enabled() != want {
			t.Errorf("enabled is %v of the provider and %v of the group, want %v", p.Enabled(), g.Enabled(), want)
		}
	}
	try := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	all = append(all, first)
	enabled(false)
	t.Run("recorded", func(t *testing.T) {
		rec := providertest.Record(t, p)
		var want []string
		for i, step := range []func(){
			func() {},
			func() { all = append(all, provider.NewProbe1[int](p, "second", "n")) },
			func() { try(p.Load()) },
			func() { all = append(all, provider.NewProbe1[int](p, "third", "n")); try(p.Load()) },
			func() { try(p.Close()) },
			func() { try(p.Load()) },
		} {
			step()
			for j, pr := range all {
				pr.Fire(i)
				want = append(want, fmt.Sprintf("rectestlater:%s %d", []string{"first", "second", "third"}[j], i))
			}
			enabled(true)
		}
		check(t, rec.All(), want...)
	})
	enabled(false)
	try(p.Close())
	enabled(false)
	t.Run("beside", func(t *testing.T) {
		rec := providertest.Record(t, p)
		first.Fire(1)
		other := provider.NewProbe1[string](p, "first", "n")
		first.Fire(2)
		other.Fire("x")
		check(t, rec.All(), "rectestlater:first 1", "rectestlater:first 2", `rectestlater:first "x"`)
	})
	enabled(false)
}

// TestEventsAreCopies checks that a caller may change the events that it got.
func TestEventsAreCopies(t *testing.T) {
	p := provider.New("rectestcopies", nil)
	probe := provider.NewProbe1[[]byte](p, "bytes", "b")
	rec := providertest.Record(t, p)
	probe.Fire([]byte("abc"))
	rec.Events("bytes")[0].Args[0].Value.([]byte)[0] = 'x'
	check(t, rec.Events("bytes"), `rectestcopies:bytes "abc"`)
}

// TestDisabled checks that USDT_DISABLE does not affect tests.
func TestDisabled(t *testing.T) {
	t.Setenv("USDT_DISABLE", "1")
	p := provider.New("rectestdisabled", nil)
	probe := provider.NewProbe1[string](p, "one", "s")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	rec := providertest.Record(t, p)
	probe.Fire("x")
	check(t, rec.Events("one"), `rectestdisabled:one "x"`)
}

// TestBubble checks that events in a synctest bubble have the bubble's time.
func TestBubble(t *testing.T) {
	p := provider.New("rectestbubble", nil)
	probe := provider.NewProbe1[int](p, "tick", "n")
	synctest.Test(t, func(t *testing.T) {
		rec := providertest.Record(t, p)
		start := time.Now()
		go func() {
			for n := range 3 {
				time.Sleep(time.Hour)
				probe.Fire(n)
			}
		}()
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		for n, ev := range rec.Events("tick") {
			if after := ev.Time.Sub(start); after != time.Duration(n+1)*time.Hour {
				t.Errorf("tick %d is %v after the start, want %d hours", n, after, n+1)
			}
		}
		if n := len(rec.Events("tick")); n != 3 {
			t.Errorf("%d ticks, want 3", n)
		}
	})
}

// TestHeader checks the fields of an event that are not arguments.
func TestHeader(t *testing.T) {
	p := provider.New("rectestheader", nil)
	probe := provider.NewProbe1[int](p, "one", "n")
	rec := providertest.Record(t, p)
	before := time.Now()
	probe.Fire(1)
	ev := rec.All()[0]
	if ev.PID != os.Getpid() || runtime.GOOS == "linux" && ev.TID == 0 || ev.Comm == "" || ev.Time.Before(before.Round(0)) || ev.Time.After(time.Now()) {
		t.Errorf("PID %d, TID %d, comm %q, at %v", ev.PID, ev.TID, ev.Comm, ev.Time)
	}
	if ev.Provider != "rectestheader" || ev.Name != "one" || ev.Args[0].Name != "n" {
		t.Errorf("%+v", ev)
	}
}
