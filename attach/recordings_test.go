package attach_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// recorder makes programs that the test starts record to a directory, which it returns.
func recorder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("USDT_RECORDER", dir+",4M")
	return dir
}

// recordingOf returns the recording of a process.
func recordingOf(t *testing.T, dir string, p *tracee.Program) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("*-%d-*.usdt", p.PID())))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings %q, %v, want one", files, err)
	}
	return files[0]
}

// replay returns the events of recordings.
func replay(t *testing.T, selector string, opts attach.Options, files ...string) (all []event.Event, s *attach.Session) {
	t.Helper()
	return replayEvents(t, selector, nil, opts, files...)
}

func replayEvents(t *testing.T, selector string, what *attach.EventOptions, opts attach.Options, files ...string) (all []event.Event, s *attach.Session) {
	t.Helper()
	opts.Target = attach.Target{Recordings: files}
	s, err := attach.OpenEvents(t.Context(), []string{selector}, what, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	checkSum(t, s)
	return all, s
}

// TestRecordings compares the JSON of what a killed process's flight recorder has kept
// with that of a live tracer.
func TestRecordings(t *testing.T) {
	dir := recorder(t)
	t.Setenv("USDT_LOCAL", "1")
	for _, test := range []struct {
		role, selector string
		commands       []string
		kept           int // bytes of each text; 0 for the default
		opts           attach.Options
	}{
		{"typed", "typed:*", []string{"ints", "others", "text", "bare"}, 200, attach.Options{}}, // a recorder keeps 256 bytes
		{"typed", "typed:*", []string{"ints", "others", "text", "bare"}, 10, attach.Options{}},
		{"nested", "nest:record", []string{"fire"}, 50, attach.Options{}},
		{"where", "where:*", []string{"num", "text", "rec"}, 100, attach.Options{}},
		{"where", "where:num", []string{"num", "text"}, 0, attach.Options{Where: `u > 100 && comm == "exe"`}},
		{"aggregate", "agg:*", []string{"fire 1"}, 0, attach.Options{}},
	} {
		t.Run(fmt.Sprintf("%s %d %s", test.role, test.kept, test.opts.Where), func(t *testing.T) {
			p := startChild(t, test.role)
			p.Do("load")
			o := test.opts
			o.Target = attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}
			what := &attach.EventOptions{MaxString: test.kept, RingSize: 16 << 20}
			live := openEvents(t, test.selector, what, &o)
			for _, c := range test.commands {
				p.Do("%s", c)
			}
			var want, got []string
			for _, ev := range drain(t, live) {
				want = append(want, asJSON(t, ev))
			}
			p.Kill()
			events, s := replayEvents(t, test.selector, what, test.opts, recordingOf(t, dir, p))
			for _, ev := range events {
				got = append(got, asJSON(t, ev))
			}
			if s.Via() != attach.ViaRecording || len(want) == 0 {
				t.Errorf("by way %v, %d events", s.Via(), len(want))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("live and recorded (-live +recorded):\n%.5000s", d)
			}
		})
	}
}

// TestRecordingsTotals adds up the events of two processes that have ended, and matches
// starts with ends by goroutine and by key.
func TestRecordingsTotals(t *testing.T) {
	dir := recorder(t)
	var files []string
	for range 2 {
		p := startChild(t, "pairing")
		p.Do("load")
		p.Do("nest 3 200")
		p.Kill()
		files = append(files, recordingOf(t, dir, p))
	}
	o := &attach.Options{Target: attach.Target{Recordings: files}}
	for _, what := range []*attach.LatencyOptions{{By: []string{"path"}}, {By: []string{"path"}, Key: []string{"id"}}} {
		a := openPairing(t, what, o)
		<-a.Done() // by itself
		groups, err := a.Read()
		if err != nil || len(groups) != 3 || groups[0].Count != 2 {
			t.Errorf("groups %+v, %v, want three of two pairs each", groups, err)
		}
		if pairs, err := a.Pairs(); err != nil || pairs != (attach.PairStats{Pairs: 6}) {
			t.Errorf("%+v, %v", pairs, err)
		}
		checkSum(t, a)
	}
	counts := openAggregate(t, []string{"pairing:end"}, attach.Sum("code").By("pid"), &attach.Options{Target: o.Target, Where: "id > 1"})
	groups, err := counts.Read()
	if err != nil || len(groups) != 2 || groups[0].Sum != int64(400) || groups[1].Sum != int64(400) {
		t.Errorf("groups %+v, %v, want one of each process", groups, err)
	}
	last := int64(0)
	events, _ := replay(t, "pairing:*", attach.Options{}, files...)
	for _, ev := range events {
		if at := ev.Time.UnixNano(); at < last {
			t.Errorf("an event of %v comes after one of %d", ev.Time, last)
		}
		last = ev.Time.UnixNano()
	}
	if len(events) != 12 {
		t.Errorf("%d events, want 12", len(events))
	}
}

// TestRecordingsDamaged checks that a damaged end costs the events there, and that what
// is no recording, or cannot be combined with one, is refused.
func TestRecordingsDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what a file holds")
	}
	dir := recorder(t)
	p := startChild(t, "aggregate")
	p.Do("load")
	p.Do("fire 1")
	p.Kill()
	path := recordingOf(t, dir, p)
	whole, _ := replay(t, "agg:*", attach.Options{}, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) != aggregateEvents*11/10 {
		t.Fatalf("%d events, want %d", len(whole), aggregateEvents*11/10)
	}
	// The part in the middle of the file's used parts ends where it is overwritten.
	for i := range 64 {
		data[128<<10+i] = 0xff
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	some, _ := replay(t, "agg:*", attach.Options{}, path)
	if len(some) >= len(whole) || len(some) < len(whole)/2 {
		t.Errorf("%d of %d events are left, want most", len(some), len(whole))
	}
	// So does what describes the probes, whatever became of it: the file is read, or it
	// is said why not.
	objects := bytes.Index(data, []byte("usdtobjs"))
	for at := objects; at < len(data); at += (len(data)-objects)/50 | 1 {
		damaged := slices.Clone(data)
		damaged[at] ^= 0xff
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := attach.Open(t.Context(), []string{"agg:*"}, &attach.Options{Target: attach.Target{Recordings: []string{path}}})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("byte %d: %v", at, err)
			}
			continue
		}
		for _, err := range s.Events() {
			if err != nil {
				break
			}
		}
		s.Close()
	}
	for _, test := range []struct {
		name string
		file []byte
	}{{"empty", nil}, {"short", data[:100]}, {"no recording", make([]byte, 1<<20)}} {
		path := filepath.Join(dir, test.name)
		if err := os.WriteFile(path, test.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := attach.Open(t.Context(), []string{"agg:*"}, &attach.Options{Target: attach.Target{Recordings: []string{path}}}); err == nil {
			t.Errorf("%s: %d sites", test.name, len(s.Plan()))
			s.Close()
		}
	}
	for _, target := range []attach.Target{
		{Recordings: []string{path}, PIDs: []int{1}}, {Recordings: []string{path}, Comm: "x"}, {Recordings: []string{path}, Via: attach.ViaLocal}, {Via: attach.ViaRecording},
	} {
		var option *attach.OptionError
		if _, err := attach.Open(t.Context(), []string{"agg:*"}, &attach.Options{Target: target}); !errors.As(err, &option) {
			t.Errorf("%+v: %v", target, err)
		}
	}
	if _, err := attach.Open(t.Context(), []string{"agg:no"}, &attach.Options{Target: attach.Target{Recordings: []string{path}}}); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("a probe that is not there: %v", err)
	}
	if _, err := attach.Open(t.Context(), []string{"uprobe:x:y"}, &attach.Options{Target: attach.Target{Recordings: []string{path}}}); err == nil {
		t.Error("functions are replayed")
	}
}
