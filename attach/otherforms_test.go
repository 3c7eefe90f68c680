package attach_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestOtherForms has the arguments of one probe be text and NULL, integers and floating-point
// numbers, or missing, and checks that every event is counted, and said what cannot be
// computed.
func TestOtherForms(t *testing.T) {
	p := start(t, exec.Command(needs.Compile(t, "testdata/otherforms.c", "gcc", "-O1")))
	const float, lacks = "it is a floating-point number of 8 bytes, and an integer elsewhere", "otherforms:p has no argument arg1: it has arg0, pid, tid, comm, cpu, uid, cgroup, container, pod"
	const lacksKey = lacks + ", probe, stack"
	for _, test := range []struct {
		name       string
		what       attach.Aggregation
		where      string
		groups     []string
		lost       uint64
		filtered   uint64
		uncomputed []string // what is said, by site
	}{
		{
			name: "sum", what: attach.Sum("arg1").And(attach.Min("arg1"), attach.Max("arg1")),
			groups: []string{`{"by":{},"count":9,"sum":20,"min":-2,"max":7}`}, lost: 6,
			uncomputed: []string{"arg1 cannot be computed there, so that its events are lost: " + float, "arg1 cannot be computed there, so that its events are lost: " + lacks},
		},
		{
			name: "by number", what: attach.Count().By("arg1"),
			groups: []string{
				`{"by":{"arg1":-2},"count":3}`, `{"by":{"arg1":0},"count":1}`, `{"by":{"arg1":1},"count":1}`, `{"by":{"arg1":4},"count":1}`, `{"by":{"arg1":7},"count":3}`,
				`{"by":{"arg1":null},"count":3,"errors":{"arg1":"` + float + `"}}`, `{"by":{"arg1":null},"count":3,"errors":{"arg1":"` + lacksKey + `"}}`,
			},
			uncomputed: []string{"arg1 cannot be computed there, so that its events have a group without it: " + float, "arg1 cannot be computed there, so that its events have a group without it: " + lacksKey},
		},
		{
			name: "by text", what: attach.Count().By("arg0[:3]"),
			groups: []string{
				`{"by":{"arg0[:3]":"nam"},"count":9}`, `{"by":{"arg0[:3]":null},"count":3}`,
				`{"by":{"arg0[:3]":null},"count":3,"errors":{"arg0[:3]":"arg0[:3] is the beginning of a text, and arg0 of otherforms:p is none; --str says that an argument points to text"}}`,
			},
			uncomputed: []string{"arg0[:3] cannot be computed there, so that its events have a group without it: arg0[:3] is the beginning of a text, and arg0 of otherforms:p is none; --str says that an argument points to text"},
		},
		{
			name: "where", what: attach.Count(), where: "arg1 > 1 || arg1 < 0",
			groups: []string{`{"by":{},"count":10}`}, filtered: 5,
			uncomputed: []string{`the condition does not fit it, so that its events count as filtered: "arg1 > 1 || arg1 < 0", column 1: ` + lacks},
		},
		{
			name: "where text", what: attach.Count(), where: `arg0 != "other"`,
			groups: []string{`{"by":{},"count":9}`}, filtered: 6,
			uncomputed: []string{`the condition does not fit it, so that its events count as filtered: "arg0 != \"other\"", column 9: arg0 is an integer, and is compared with a string`},
		},
	} {
		check := func(t *testing.T, opts attach.Options, fire func()) {
			opts.Where = test.where
			a := openAggregate(t, []string{"otherforms:p"}, test.what, &opts)
			fire()
			if a.Via() == attach.ViaRecording {
				<-a.Done()
			}
			var uncomputed []string
			for _, s := range a.Plan() {
				if !s.Attached || s.Reason != nil {
					t.Errorf("site %#x is not attached to: %v", s.Offset, s.Reason)
				}
				for _, err := range s.Uncomputed {
					uncomputed = append(uncomputed, err.Error())
				}
			}
			if err := a.Stop(); err != nil {
				t.Fatal(err)
			}
			var groups []string
			for _, g := range readGroups(t, a) {
				data, err := json.Marshal(g)
				if err != nil {
					t.Fatal(err)
				}
				text := string(data)
				if at := strings.Index(text, `"by"`); at > 0 {
					text = "{" + text[at:] // without the times of recordings
				}
				groups = append(groups, text)
			}
			slices.Sort(groups)
			slices.Sort(test.groups)
			if d := cmp.Diff(test.groups, groups); d != "" {
				t.Errorf("groups (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.uncomputed, uncomputed); d != "" {
				t.Errorf("what is said (-want +got):\n%s", d)
			}
			if st := checkSum(t, a); st.Fired != 15 || st.Lost != test.lost || st.Filtered != test.filtered {
				t.Errorf("%+v, want 15 fired, %d lost and %d filtered", st, test.lost, test.filtered)
			}
		}
		t.Run(test.name, func(t *testing.T) {
			live := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
			eachWay(t, func(t *testing.T) { check(t, live, func() { p.Do("") }) })
			if strings.Contains(test.name, "text") {
				return // a recording has the numbers that nobody said are text
			}
			file := startRecord(t, []string{"otherforms:*"}, &live)
			p.Do("")
			t.Run("replay", func(t *testing.T) { check(t, *file.end(t), func() {}) })
		})
	}
	l, err := attach.OpenLatency(t.Context(), "otherforms:p", "otherforms:end", &attach.LatencyOptions{Key: []string{"arg0[:4]"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.Do("")
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(); err != nil {
		t.Fatal(err)
	}
	pairs, err := l.Pairs()
	if st := checkSum(t, l); err != nil || pairs.Pairs != 3 || st.Fired != 18 || st.Lost != 6 {
		t.Errorf("pairs %+v (%v) and %+v, want 3 pairs, and 6 of 18 events lost, whose key is none", pairs, err, st)
	}
}
