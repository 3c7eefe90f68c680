//go:build !usdt_nolocal

package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	systest "github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// offered makes a provider whose probes are offered to local tracers, once it is
// loaded.
func offered(t testing.TB) *provider.Provider { return fresh(t.Name(), &provider.Options{Local: true}) }

// text returns an event as JSON, without what differs between tracers of one firing.
func text(t testing.TB, ev event.Event) string {
	t.Helper()
	ev.Time, ev.PID, ev.TID, ev.Comm = time.Time{}, 0, 0, ""
	b, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type crate struct {
	Weight float32
	Label  string
	Sizes  [3]int16
}

type parcel struct {
	ID     uint64
	To     string
	Crates []crate
	Raw    []byte
	Dims   []uint16
	At     time.Time
	From   netip.Addr
	Err    provider.Text
	Pair   [2]crate
	Next   *parcel
	Fine   bool
}

type plain struct {
	A int64
	B uint32
	C int8
	D [3]byte
}

type odd struct {
	A [3]byte
	B bool
}

// TestLocalKinds checks that a local tracer gets arguments and records of every kind as
// package providertest does.
func TestLocalKinds(t *testing.T) {
	p := offered(t)
	ints := provider.NewProbe6[int8, uint16, int, uint64, bool, uint8](p, "ints", "a", "b", "c", "d", "e", "f")
	floats := provider.NewProbe4[float64, float32, int16, uint32](p, "floats", "a", "b", "c", "d")
	texts := provider.NewProbe6[string, []byte, time.Duration, time.Time, provider.IP, provider.Text](p, "texts", "s", "b", "took", "at", "peer", "err")
	strs := provider.NewProbe3[string, int32, string](p, "strs", "a", "n", "b")
	none := provider.NewProbe0(p, "none")
	parcels := provider.NewStructProbe[parcel](p, "parcels")
	plains := provider.NewStructProbe[plain](p, "plains")
	odds := provider.NewStructProbe[odd](p, "odds")
	load(t, p)
	rec := providertest.Record(t, p)
	tr := attachTo(t, os.Getpid(), p.Name(), watching{limit: 1 << 16})

	before := ring.Now()
	ints.Fire(-1, 65535, math.MinInt, 1<<63, true, 255)
	ints.Fire(127, 0, 0, math.MaxUint64, false, 0)
	floats.Fire(1.5, -2.5, -1, 1)
	floats.Fire(math.NaN(), float32(math.Inf(-1)), 0, 0)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	texts.Fire("nul \x00 "+strings.Repeat("x", 3000), []byte{0, 255}, time.Second, at, provider.Addr(netip.MustParseAddr("10.0.0.1")), provider.Error(os.ErrClosed))
	texts.Fire("", nil, 0, time.Time{}, provider.IP{}, provider.Text{})
	texts.Fire("\xff", []byte(""), -1, time.Unix(1<<40, 0), provider.Addr(netip.MustParseAddr("2001:db8::1")), provider.Stringer(netip.MustParseAddr("::")))
	for n := range 20 {
		strs.Fire(strings.Repeat("é", n), int32(n), strings.Repeat("b", 19-n))
	}
	none.Fire()
	parcels.Fire(&parcel{
		ID: 1, To: "home", Crates: []crate{{1.5, "a", [3]int16{1, 2, 3}}, {0, "", [3]int16{}}, {2, "ccc", [3]int16{-1}}}, Raw: []byte("raw"),
		Dims: []uint16{1, 2, 65535}, At: at, From: netip.MustParseAddr("10.1.2.3"), Err: provider.Error(os.ErrExist),
		Pair: [2]crate{{3, "left", [3]int16{}}, {4, "right", [3]int16{}}}, Fine: true,
	})
	parcels.Fire(&parcel{})
	parcels.Fire(nil)
	plains.Fire(&plain{-1, 2, -3, [3]byte{1, 2, 3}})
	plains.Fire(nil)
	odds.Fire(&odd{[3]byte{1, 2, 3}, true})

	after := ring.Now()

	got := tr.all(t)
	want := systest.Traced(rec.All())
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if g, w := text(t, got[i]), text(t, want[i]); g != w {
			t.Errorf("event %d is\n%s\nwant\n%s", i, g, w)
		}
		if at := uint64(got[i].Time.UnixNano()); at < before || at > after {
			t.Errorf("event %d is of %d, want %d to %d", i, at, before, after)
		}
	}
	if n := tr.Ring.Counts(); n != (ring.Counts{Recorded: uint64(len(want))}) {
		t.Errorf("counts %+v, want %d recorded", n, len(want))
	}
}

// TestLocalFollow checks that a local tracer can follow pointers.
func TestLocalFollow(t *testing.T) {
	p := offered(t)
	parcels := provider.NewStructProbe[parcel](p, "parcels")
	load(t, p)
	tr := attachTo(t, os.Getpid(), p.Name(), watching{follow: func(path string) (exact, ok bool) {
		exact = path == "Next" || path == "Next.Next"
		return exact, exact
	}})
	parcels.Fire(&parcel{ID: 1, To: "one", Next: &parcel{ID: 2, To: "two", Next: &parcel{ID: 3, To: "three", Crates: []crate{{Label: "deep"}}}}})
	parcels.Fire(&parcel{ID: 1, Next: &parcel{}})
	got := tr.all(t)
	if len(got) != 2 {
		t.Fatalf("%d events, want 2", len(got))
	}
	for i, want := range [][]string{{`"To":"one"`, `"To":"two"`, `"To":"three"`}, {`"ID":1`, `"ID":0`}} {
		for _, part := range want {
			if s := text(t, got[i]); !strings.Contains(s, part) {
				t.Errorf("event %d lacks %s: %s", i, part, s)
			}
		}
	}
}

// descriptors returns what this process's descriptors lead to.
func descriptors(t testing.TB) (links []string) {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dir {
		if link, err := os.Readlink(path.Join("/proc/self/fd", d.Name())); err == nil {
			links = append(links, link)
		}
	}
	return links
}

// TestLocalOff checks that a provider without the option offers nothing, that one with
// it does, until Close, and that the environment decides.
func TestLocalOff(t *testing.T) {
	offers := func() (n int) {
		for _, link := range descriptors(t) {
			if strings.HasPrefix(link, "/memfd:usdt-local") || strings.HasPrefix(link, "socket:") || strings.Contains(link, "/usdt-") {
				n++
			}
		}
		return n
	}
	for _, test := range []struct {
		env   string
		local bool
		want  bool
	}{{"", false, false}, {"1", false, true}, {"0", true, false}, {"", true, true}} {
		t.Run(fmt.Sprint(test.env, test.local), func(t *testing.T) {
			t.Setenv("USDT_LOCAL", test.env)
			p := fresh("TestLocalOff", &provider.Options{Local: test.local})
			provider.NewProbe0(p, "x")
			if n := offers(); n != 0 {
				t.Fatalf("%d descriptors before Load", n)
			}
			load(t, p)
			is, err := rendezvous.Offered(os.Getpid())
			if err != nil || is != test.want || (offers() > 0) != test.want {
				t.Errorf("offered %v, %v, with %d descriptors; want %v", is, err, offers(), test.want)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if n := offers(); n != 0 {
				t.Errorf("%d descriptors after Close", n)
			}
		})
	}
	if _, err := rendezvous.Connect(t.Context(), os.Getpid(), nil); !errors.Is(err, rendezvous.ErrNotOffered) {
		t.Errorf("a process without providers: %v", err)
	}
}

// TestLocalLife checks that local tracers come and go, that probes may be loaded and
// closed meanwhile, and that nobody watches afterwards.
func TestLocalLife(t *testing.T) {
	p := offered(t)
	one := provider.NewProbe1[int](p, "one", "n")
	load(t, p)
	if one.Enabled() {
		t.Fatal("enabled without a tracer")
	}
	a := attachTo(t, os.Getpid(), p.Name(), watching{})
	b := attachTo(t, os.Getpid(), p.Name(), watching{})
	if !one.Enabled() || !p.Enabled() {
		t.Fatal("not enabled")
	}
	one.Fire(1)
	two := provider.NewProbe1[int](p, "two", "n")
	load(t, p)
	<-a.Loaded
	if err := a.watch(p.Name(), watching{probe: "two"}); err != nil {
		t.Fatal(err)
	}
	two.Fire(2)
	if err := b.Forget([]uint32{1}); err != nil {
		t.Fatal(err)
	}
	one.Fire(3)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	one.Fire(4)
	values := func(events []event.Event) (s string) {
		for _, ev := range events {
			s += fmt.Sprint(ev.Name, ev.Args[0].Value, " ")
		}
		return s
	}
	if got, want := values(b.next(t, true)), "one1 "; got != want {
		t.Errorf("b has %q, want %q", got, want)
	}
	if got, want := values(a.next(t, false)), "one1 two2 one3 one4 "; got != want {
		t.Errorf("a has %q, want %q", got, want)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	<-a.Gone
	one.Fire(5)
	if one.Enabled() || two.Enabled() || p.Enabled() {
		t.Error("enabled after Close")
	}
	load(t, p)
	if one.Enabled() {
		t.Error("enabled after the next Load")
	}
	c := attachTo(t, os.Getpid(), p.Name(), watching{probe: "one"})
	one.Fire(6)
	two.Fire(7)
	if got, want := values(c.all(t)), "one6 "; got != want {
		t.Errorf("c has %q, want %q", got, want)
	}
	if one.Enabled() {
		t.Error("enabled after Stop")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
