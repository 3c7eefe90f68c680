package attach_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

func init() { roles["others"] = tracee.Obey(othersChild()) }

// othersFrequent are the keys of the child "others" that come again and again, once in so
// many events.
const (
	othersFrequent = 10
	othersEvery    = 40
)

// othersChild fires keys, most of them once, from several threads, and few keys with
// numbers.
func othersChild() func(string) error {
	p := provider.New("others", nil)
	hit := provider.NewProbe2[uint64, int64](p, "hit", "key", "n")
	few := provider.NewProbe2[int32, float64](p, "few", "key", "n")
	return func(command string) error {
		var threads, events int
		switch n, _ := fmt.Sscanf(command, "hit %d %d", &threads, &events); {
		case command == "load":
			return p.Load()
		case command == "few":
			for i := range 20 {
				for range i + 1 {
					few.Fire(int32(i), float64(i)/2)
				}
			}
			return nil
		case n != 2:
			return fmt.Errorf("unknown command %q", command)
		}
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for i := range events {
					hit.Fire(othersKey(thread, i), int64(i))
				}
			})
		}
		wg.Wait()
		return nil
	}
}

func othersKey(thread, i int) uint64 {
	if i%othersEvery == 0 {
		return uint64(i / othersEvery % othersFrequent)
	}
	return 1<<32*uint64(thread+1) + uint64(i)
}

// TestOther groups by more keys than are told apart: the frequent ones are among the groups
// with all of their events, and those of the others are in one, so that nothing is lost.
func TestOther(t *testing.T) { everyWay(t, checkOther) }

func checkOther(t *testing.T) {
	p := startChild(t, "others")
	p.Do("load")
	events := 40_000
	if testing.Short() {
		events = 12_000
	}
	for _, test := range []struct {
		what attach.Aggregation
		most int
	}{
		{attach.Sum("n").By("key"), 8192},
		{attach.Sum("n").By("key", "pid"), 8192},
		{attach.Sum("n").And(attach.Hist("n")).By("key").MaxGroups(100), 100},
	} {
		a := openAggregate(t, []string{"others:hit"}, test.what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		p.Do("hit 1 %d", events)
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(groups) != test.most+1 || !groups[test.most].Other {
			t.Errorf("%d groups, the last of which is %+v, want %d and the others", len(groups), groups[len(groups)-1], test.most)
		}
		count, sum, inBuckets := uint64(0), int64(0), uint64(0)
		got, want := map[uint64]uint64{}, map[uint64]uint64{}
		for _, g := range groups {
			count, sum = count+g.Count, sum+g.Sum.(int64)
			for _, b := range g.Hist {
				inBuckets += b.N
			}
			if g.Other {
				if g.By[0].Name != "key" || g.By[0].Value != nil || g.By[0].Err != nil {
					t.Errorf("the others are by %+v", g.By)
				}
			} else if key := g.By[0].Value.(uint64); key < othersFrequent {
				got[key] = g.Count
			}
		}
		st := checkSum(t, a)
		if st.Lost > 0 && st.Lost == st.Full+st.Contended { // a ring was full before this program had its turn
			if count != st.Received {
				t.Errorf("%d events counted, %d received", count, st.Received)
			}
			a.Close()
			continue
		}
		for i := 0; i < events; i += othersEvery {
			want[othersKey(0, i)]++
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("frequent keys (-want +got):\n%s", d)
		}
		if count != uint64(events) || sum != int64(events)*int64(events-1)/2 || st.Lost > 0 {
			t.Errorf("%d events with a sum of %d, stats %+v; want %d with %d, none lost", count, sum, st, events, events*(events-1)/2)
		}
		if groups[0].Hist != nil && inBuckets != count {
			t.Errorf("%d values in buckets, %d events", inBuckets, count)
		}
		a.Close()
	}
}

// TestOtherFew compares all that is computed of the others with what they are.
func TestOtherFew(t *testing.T) { everyWay(t, checkOtherFew) }

func checkOtherFew(t *testing.T) {
	p := startChild(t, "others")
	p.Do("load")
	what := attach.Sum("n").And(attach.Avg("n"), attach.Min("n"), attach.Max("n"), attach.Stddev("n"), attach.Hist("n")).Bounds(0, 5, 10).By("key").MaxGroups(2)
	a := openAggregate(t, []string{"others:few"}, what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("few")
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		g.Avg, g.Stddev = nil, nil
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	count, sum := 0, 0.0
	for i := range 18 {
		count, sum = count+i+1, sum+float64(i+1)*float64(i)/2
	}
	want := []string{
		`{"by":{"key":19},"count":20,"sum":190,"min":9.5,"max":9.5,"hist":[{"lo":5,"hi":10,"n":20}]}`,
		`{"by":{"key":18},"count":19,"sum":171,"min":9,"max":9,"hist":[{"lo":5,"hi":10,"n":19}]}`,
		fmt.Sprintf(`{"by":{"key":null},"other":true,"count":%d,"sum":%v,"min":0,"max":8.5,"hist":[{"lo":0,"hi":5,"n":55},{"lo":5,"hi":10,"n":%d}]}`, count, sum, count-55),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	if st := checkSum(t, a); st.Lost > 0 {
		t.Errorf("stats %+v, want none lost", st)
	}
}

// TestOtherHammer reads while several threads fire far more keys than there is room for:
// each event is in one result.
func TestOtherHammer(t *testing.T) {
	if testing.Short() {
		t.Skip("short: TestOther and TestOtherFew show the same with fewer events")
	}
	everyWay(t, checkOtherHammer)
}

func checkOtherHammer(t *testing.T) {
	p := startChild(t, "others")
	p.Do("load")
	a := openAggregate(t, []string{"others:hit"}, attach.Sum("n").And(attach.Hist("n")).By("key"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	var count uint64
	var sum int64
	read := func() (others int) {
		groups, err := a.Read()
		if err != nil {
			t.Error(err)
		}
		for _, g := range groups {
			count, sum = count+g.Count, sum+g.Sum.(int64)
		}
		return len(slices.DeleteFunc(groups, func(g total.Group) bool { return !g.Other }))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	others := 0
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				others += read()
			}
		}
	}()
	const rounds, threads, events = 5, 4, 4000
	for i := range rounds {
		if i == rounds-1 { // there must be others in the end, however slow the program was
			close(stop)
			<-stopped
		}
		p.Do("hit %d %d", threads, events)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	p.Do("hit 1 10") // nobody listens
	others += read()
	st := checkSum(t, a)
	const all = rounds * threads * events
	if st.Lost > 0 && st.Lost == st.Full+st.Contended {
		if count != st.Received {
			t.Errorf("%d events counted, %d received", count, st.Received)
		}
		return
	}
	if count != all || sum != rounds*threads*events*(events-1)/2 || st.Fired != all || st.Lost > 0 {
		t.Errorf("%d events with a sum of %d, stats %+v; want %d with %d, none lost", count, sum, st, all, rounds*threads*events*(events-1)/2)
	}
	if others == 0 {
		t.Error("no result has others: the test shows nothing")
	}
}
