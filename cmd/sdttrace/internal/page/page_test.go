package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
)

func text(dst []byte, a *event.Arg) []byte { return fmt.Append(dst, a.Value) }

// TestKept checks that all events count, and that the newest ones are kept.
func TestKept(t *testing.T) {
	p := New(text)
	p.most = 2 * blockEvents
	begin := time.Unix(1e9, 0)
	const n = 3*blockEvents + 7
	for i := range n {
		at := begin.Add(time.Duration(i) * time.Millisecond)
		p.Add(&event.Event{Time: at, Provider: "p", Name: "n", Args: []event.Arg{{Name: "i", Value: uint64(i)}}})
	}
	var out bytes.Buffer
	if err := p.Write(&out, Summary{}); err != nil {
		t.Fatal(err)
	}
	if p.total != n || p.kept != blockEvents+7 || p.probes[0].count != n || p.probes[0].args[0].values.count != n {
		t.Errorf("%d events, of which %d are kept, want %d and %d", p.total, p.kept, n, blockEvents+7)
	}
	sum := uint64(0)
	for _, c := range p.probes[0].rate.counts {
		sum += c
	}
	if sum != n || p.time.bins > maxBins {
		t.Errorf("%d events in %d intervals, want %d in at most %d", sum, p.time.bins, n, maxBins)
	}
	if want := begin.Add((2*blockEvents - 1) * time.Millisecond).UnixNano(); p.oldest != want {
		t.Errorf("events are complete behind %d, want %d", p.oldest, want)
	}
}

// TestHarm checks that nothing that was traced stands in the file as it is.
func TestHarm(t *testing.T) {
	const harm = "</script><script>harm()</script>"
	p := New(text)
	ev := event.Event{Provider: harm, Name: harm, Comm: harm, Args: []event.Arg{{Name: harm, Value: harm + "\xff"}, {Name: "inf", Value: math.Inf(1)}, {Name: "nan", Value: math.NaN()}, {Name: "most", Value: math.MaxFloat64}, {Name: "most", Value: math.MaxFloat64}}}
	for _, at := range []int64{0, math.MaxInt64, math.MinInt64, 1e18} { // of damaged recordings
		ev.Time = time.Unix(0, at)
		p.Add(&ev)
		p.AddPair(&ev, &ev, -1, "", 0)
	}
	var out bytes.Buffer
	if err := p.Write(&out, Summary{Command: harm}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "harm") {
		t.Error("the file has what was traced in plain text")
	}
	if n := strings.Count(out.String(), "<script"); n != 3 { // contents, one block, the program
		t.Errorf("the file has %d scripts, want 3", n)
	}
}

// TestBuckets checks the bounds that the page's program computes for buckets.
func TestBuckets(t *testing.T) {
	for _, v := range []float64{1, 1.1249, 1.125, 15, 16, 17.9, 18, 0.3, 1e-300, math.MaxFloat64, 1 << 40} {
		b := bucketOf(v)
		e, i := b/bucketsPerOctave-1074, b%bucketsPerOctave
		low := math.Ldexp(1+float64(i)/bucketsPerOctave, e-1)
		high := math.Ldexp(1+float64(i+1)/bucketsPerOctave, e-1)
		if !(low <= v && v < high) {
			t.Errorf("%v is in bucket %d, from %v to %v", v, b, low, high)
		}
		if bucketOf(-v) != -b {
			t.Errorf("%v is in bucket %d, want %d", -v, bucketOf(-v), -b)
		}
	}
	if bucketOf(0) != 0 {
		t.Errorf("0 is in bucket %d", bucketOf(0))
	}
}

// TestExact counts distinct numbers one by one, until there are too many, also of merged groups.
func TestExact(t *testing.T) {
	var few, more, merged histogram
	for i := range 100 {
		few.add(float64(200 + i%2*204))
		more.add(float64(i))
	}
	merged.merge(&few)
	merged.merge(&few)
	if want := [][2]float64{{200, 50}, {404, 50}}; !slices.Equal(few.contents().Exact, want) {
		t.Errorf("got %v, want %v", few.contents().Exact, want)
	}
	if want := [][2]float64{{200, 100}, {404, 100}}; !slices.Equal(merged.contents().Exact, want) {
		t.Errorf("merged: got %v, want %v", merged.contents().Exact, want)
	}
	merged.merge(&more)
	if more.contents().Exact != nil || merged.contents().Exact != nil {
		t.Errorf("100 numbers are told apart, want at most %d", maxExact)
	}
}

// TestTimeline adds times in any order.
func TestTimeline(t *testing.T) {
	var line timeline
	var a, b series
	at := []int64{5e9, 4e9, 5e9 + 1, 100e9, 1e9, 99e9, 5e9}
	for _, v := range at {
		line.add(&a, v)
		line.add(&b, v)
		line.add(&b, v)
	}
	if line.bins > maxBins || line.begin > 1e9 || line.begin+line.width*int64(line.bins) <= 100e9 {
		t.Errorf("%+v does not have all times", line)
	}
	for _, v := range at {
		if i := (v - line.begin) / line.width; a.counts[i] == 0 || b.counts[i] != 2*a.counts[i] {
			t.Errorf("%d and %d at %d", a.counts[i], b.counts[i], v)
		}
	}
}

// TestNilRecord checks that one cell says that a record is nil.
func TestNilRecord(t *testing.T) {
	p := New(text)
	p.Add(&event.Event{Time: time.Unix(1, 0), Args: []event.Arg{{Name: "a", Err: event.ErrNil}, {Name: "b", Err: event.ErrNil}}})
	if args := p.probes[0].args; len(args) != 1 || args[0].name != "a" {
		t.Errorf("%d arguments have cells, want the first", len(args))
	}
}

// TestExactTimes tells apart the times of as many pairs as a page of a few seconds has.
func TestExactTimes(t *testing.T) {
	p := New(text)
	at := func(took time.Duration) *event.Event {
		return &event.Event{Time: time.Unix(1e9, 0).Add(took), Provider: "p", Name: "n"}
	}
	s := p.spanOf(at(0), at(0))
	for i := range maxExactTimes {
		took := time.Millisecond + time.Duration(i)*7919
		s.add(p, at(0), at(took), took)
	}
	if exact := s.took.contents().Exact; len(exact) != maxExactTimes {
		t.Fatalf("%d times are told apart, want %d", len(exact), maxExactTimes)
	}
	s.add(p, at(0), at(1), 1)
	if exact := s.took.contents().Exact; exact != nil {
		t.Errorf("%d times are told apart, want none of more than %d", len(exact), maxExactTimes)
	}
}

// TestPairNames checks what pairs of two probes, and of the two ends of a function, are called.
func TestPairNames(t *testing.T) {
	p := New(text)
	at := func(name string) *event.Event { return &event.Event{Provider: "p", Name: name} }
	for _, c := range []struct{ start, end, want string }{{"a", "b", "p:a → p:b"}, {"f", "f", "p:f → return"}} {
		if got := p.spanOf(at(c.start), at(c.end)).name(); got != c.want {
			t.Errorf("the pairs of %s and %s are called %q, want %q", c.start, c.end, got, c.want)
		}
	}
}

// TestReadings checks that the line below each chart says what it is for while nothing is pointed at.
func TestReadings(t *testing.T) {
	html, err := assets.ReadFile("assets/page.html")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`<p class="reading"[^>]*>`).FindAllString(string(html), -1)
	if len(lines) == 0 {
		t.Fatal("no line below a chart")
	}
	for _, line := range lines {
		if !strings.Contains(line, ` data-hint="`) {
			t.Errorf("%s is blank", line)
		}
	}
}
