//go:build !usdt_nolocal

package provider_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/shape"
	systest "github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
	"github.com/go-usdt/usdt/reader"
)

func init() { roles["recorded"] = recordingUntilKilled }

// recorded makes a provider that is recorded in a directory, once it is loaded.
func recorded(t testing.TB, dir string, probes ...string) *provider.Provider {
	return fresh(t.Name(), &provider.Options{FlightRecorder: &provider.FlightRecorder{Dir: dir, Size: 1 << 20, Probes: probes}})
}

// recordings returns the paths of the files in a directory.
func recordings(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.usdt"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// replay returns the events of a recording.
func replay(t testing.TB, path string) (events []event.Event, counts ring.RecordingCounts) {
	t.Helper()
	rec, err := ring.OpenRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	shapes, probes := map[uint32]*shape.Shape{}, map[uint32]*reader.Probe{}
	for _, s := range rec.Sites() {
		f, err := reader.NewFile(bytes.NewReader(s.Object))
		if err != nil {
			t.Fatal(err)
		}
		for p, err := range f.Probes() {
			if err != nil {
				t.Fatal(err)
			}
			if p.Location != s.Location {
				continue
			}
			shapes[s.Number], probes[s.Number] = recordedShape(t, &p, s.Limit), &p
		}
	}
	d := decode.NewDecoder(func(n uint32) (*shape.Shape, *reader.Probe) { return shapes[n], probes[n] },
		func(ns uint64) time.Time { return time.Unix(0, int64(ns)) })
	for b, err := range rec.Records() {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := d.Decode(b)
		if err != nil {
			t.Fatalf("record %x: %v", b, err)
		}
		events = append(events, ev)
	}
	return events, rec.Counts()
}

// recordedShape is shape.OfBlock with the slots of a recording: one that tells IPv4
// addresses if the type needs it, then the goroutine.
func recordedShape(t testing.TB, p *reader.Probe, limit int) *shape.Shape {
	t.Helper()
	s := &shape.Shape{Layout: &record.Layout{Limit: limit, Slots: 1}}
	if len(p.Type.Fields) == 0 {
		return s
	}
	if p.Type.Record.Flags&notes.IPv4Register != 0 {
		s.IPv4, s.Layout.Slots = true, 2
	}
	s.AddBlock(p.Type, nil)
	return s
}

// TestRecorder checks that a recording has what was fired: every kind of argument,
// of the probes that were chosen.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	p := recorded(t, dir, "TestRec*:*s", "none:*")
	ints := provider.NewProbe3[int8, uint64, bool](p, "ints", "a", "b", "c")
	texts := provider.NewProbe4[string, []byte, provider.IP, provider.Text](p, "texts", "s", "b", "peer", "err")
	other := provider.NewProbe0(p, "other")
	load(t, p)
	parcels := provider.NewStructProbe[parcel](p, "parcels")
	plains := provider.NewStructProbe[plain](p, "plains")
	nothings := provider.NewProbe0(p, "nothings")
	load(t, p)
	want := providertest.Record(t, p)
	before := time.Now()
	for i := range 3 {
		ints.Fire(int8(-i), 1<<63, true)
		texts.Fire(strings.Repeat("x", 100*i), []byte{0, 1}, provider.Addr(netip.MustParseAddr("10.0.0.1")), provider.Error(os.ErrExist))
		parcels.Fire(&parcel{
			ID: 1, To: "home", Crates: []crate{{1.5, "a", [3]int16{1, 2, 3}}, {0, "", [3]int16{}}}, Raw: []byte("raw"), Dims: []uint16{1, 2, 65535},
			At: before, From: netip.MustParseAddr("::1"), Err: provider.Error(os.ErrClosed), Pair: [2]crate{{3, "left", [3]int16{}}, {4, "right", [3]int16{}}},
		})
		parcels.Fire(nil)
		plains.Fire(&plain{A: int64(i)})
		nothings.Fire()
	}
	if other.Enabled() != true { // the test listens to all
		t.Error("not enabled")
	}
	after := time.Now()
	paths := recordings(t, dir)
	if len(paths) != 1 {
		t.Fatalf("files %q", paths)
	}
	got, counts := replay(t, paths[0])
	all := systest.Traced(want.All())
	if len(got) != len(all) || counts.Recorded != uint64(len(all)) || counts.Kept != counts.Recorded || counts.Damaged+counts.Large+counts.Contended != 0 {
		t.Fatalf("%d events, counts %+v, want %d", len(got), counts, len(all))
	}
	for i := range all {
		if g, w := text(t, got[i]), text(t, all[i]); g != w {
			t.Errorf("event %d is\n%s\nwant\n%s", i, g, w)
		}
		if at := got[i].Time; at.Before(before.Add(-time.Millisecond)) || at.After(after.Add(time.Millisecond)) {
			t.Errorf("event %d is of %v, want %v to %v", i, at, before, after)
		}
		if got[i].PID != os.Getpid() {
			t.Errorf("event %d is of process %d", i, got[i].PID)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	ints.Fire(1, 2, true)
	if again, _ := replay(t, paths[0]); len(again) != len(all) {
		t.Errorf("after Close there are %d events, want %d", len(again), len(all))
	}
}

// TestRecorderMoves checks that a recorder does not keep objects from being merged, and
// goes on with probes that move.
func TestRecorderMoves(t *testing.T) {
	dir := t.TempDir()
	p := recorded(t, dir)
	var probes []*provider.Probe1[int]
	fired := 0
	for i := range 20 {
		probes = append(probes, provider.NewProbe1[int](p, fmt.Sprint("p", i), "n"))
		load(t, p)
		for _, pr := range probes {
			pr.Fire(fired)
			fired++
		}
	}
	if n := memfds(t, p.Name()); n > 4 {
		t.Errorf("%d objects are loaded", n)
	}
	got, counts := replay(t, recordings(t, dir)[0])
	if len(got) != fired || counts.Damaged != 0 {
		t.Fatalf("%d events, counts %+v, want %d", len(got), counts, fired)
	}
	for i, ev := range got {
		if ev.Args[0].Value != int64(i) {
			t.Fatalf("event %d is %v", i, ev.Args)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, pr := range probes {
		if pr.Enabled() {
			t.Fatal("enabled after Close")
		}
	}
}

// recordingUntilKilled is the role of a service with a recorder, which fires until it
// is killed.
func recordingUntilKilled(args []string) error {
	p := provider.New("recordedflood", &provider.Options{FlightRecorder: &provider.FlightRecorder{Dir: args[0], Size: 512 << 10}})
	flood := provider.NewProbe3[uint64, uint64, string](p, "event", "goroutine", "n", "text")
	if err := p.Load(); err != nil {
		return err
	}
	for g := range uint64(floodGoroutines) {
		go func() {
			for n := uint64(0); ; n++ {
				flood.Fire(g, n, "sixteen bytes ok"[:n%17])
				if n == 20_000 {
					fmt.Println("ready")
				}
			}
		}()
	}
	select {}
}

// TestRecorderKilled kills services with recorders in mid-flood: their last events are
// in the files, each goroutine's without a gap.
func TestRecorderKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: floods, and no kernel makes a difference")
	}
	for round := range max(1, *kills/4) {
		dir := t.TempDir()
		cmd := tracee.Self("recorded")
		cmd.Args = append(cmd.Args, dir)
		service := tracee.StartVictim(t, cmd)
		service.Line()
		syscall.Kill(service.PID(), syscall.SIGKILL)
		service.End()
		got, counts := replay(t, recordings(t, dir)[0])
		if len(got) < 2000 || counts.Damaged != 0 || counts.Contended != 0 && !raced {
			t.Errorf("round %d: %d events, counts %+v", round, len(got), counts)
		}
		seen := map[[2]uint64]bool{}
		for _, ev := range got {
			g, n := ev.Args[0].Value.(uint64), ev.Args[1].Value.(uint64)
			if g >= floodGoroutines || seen[[2]uint64{g, n}] || ev.Args[2].Value != "sixteen bytes ok"[:n%17] || ev.PID != service.PID() {
				t.Fatalf("round %d: event %v", round, ev)
			}
			seen[[2]uint64{g, n}] = true
		}
	}
}

// TestRecorderFiles checks where files are, that old ones go, and the environment.
func TestRecorderFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	t.Setenv("USDT_RECORDER", dir+",1M")
	for range 12 {
		p := fresh(t.Name(), nil)
		pr := provider.NewProbe0(p, "x")
		load(t, p)
		pr.Fire()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	paths := recordings(t, dir)
	if len(paths) == 0 {
		t.Fatal("no file")
	}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != 0o600 || st.Size() < 1<<20 || st.Size() > 2<<20 {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	comm, _ := os.ReadFile("/proc/self/comm")
	dir = filepath.Join(t.TempDir(), "old")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("USDT_RECORDER", dir+",1M")
	others := filepath.Join(dir, fmt.Sprintf("%s-x-1-1.usdt", strings.TrimSpace(string(comm)))) // of another name
	if err := os.WriteFile(others, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 20 { // of a process that cannot be
		name := fmt.Sprintf("%s-%d-%d.usdt", strings.TrimSpace(string(comm)), 1<<22+5, 1000+i)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := fresh(t.Name(), nil)
	provider.NewProbe0(p, "x")
	load(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, path := range recordings(t, dir) {
		if strings.Contains(path, fmt.Sprint(1<<22+5)) {
			left++
			if strings.HasSuffix(path, "-1000.usdt") {
				t.Error("the oldest file is there")
			}
		}
	}
	if left != 7 {
		t.Errorf("%d old files are left, want 7", left)
	}
	if _, err := os.Stat(others); err != nil {
		t.Errorf("of a process of another name: %v", err)
	}
	t.Setenv("USDT_RECORDER", "/proc/no/such/directory")
	p = fresh(t.Name(), nil)
	pr := provider.NewProbe0(p, "x")
	if err := p.Load(); err == nil || !strings.Contains(err.Error(), "flight recorder") {
		t.Errorf("a directory that cannot be: %v", err)
	}
	pr.Fire() // fires all the same
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestRecorderLayouts compares the layouts of records with the layouts that readers make of their
// types.
func TestRecorderLayouts(t *testing.T) {
	type named struct {
		Name  string
		Parts []struct{ A, B string }
	}
	type tree struct {
		Kids  []tree
		Left  *tree
		Names [3][]string
		Text  [12]byte
		Deep  [2]struct{ N []named }
		Many  [40]string
		Last  []byte
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[parcel](), reflect.TypeFor[plain](), reflect.TypeFor[odd](), reflect.TypeFor[named](), reflect.TypeFor[tree](),
		reflect.TypeFor[struct{ A []netip.Addr }](), reflect.TypeFor[struct {
			A []time.Time
			B [][]string
			C [][]byte
		}](),
		reflect.TypeFor[struct{ A [70]string }](), reflect.TypeFor[struct{ A [][4]named }](),
	} {
		got, want, err := provider.Layouts(typ)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%v:\n%+v, want\n%+v", typ, got, want)
		}
	}
}

// TestMatches checks patterns of probes.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a:b", "a:b", true}, {"a:b", "a:bc", false}, {"*", "a:b", true}, {"a:*", "a:b", true}, {"*:b", "a:b", true}, {"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false}, {"", "", true}, {"", "a", false}, {"**", "", true}, {"*a", "ba", true}, {"*a", "bab", false},
	} {
		if got := provider.Matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}
