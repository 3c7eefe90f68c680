package remark_test

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// seen is a session of which only counts and sites are known.
type seen struct {
	attach.Tracer
	stats attach.Stats
	via   attach.Via
	plan  attach.Plan
}

func (s *seen) Via() attach.Via   { return s.via }
func (s *seen) Plan() attach.Plan { return s.plan }
func (s *seen) Stats() (attach.Stats, error) {
	st := s.stats
	st.Found = uint64(len(s.plan))
	return st, nil
}

// TestWhy gives each silence its reason, and none to what is not silent.
func TestWhy(t *testing.T) {
	one := attach.Plan{{Probe: reader.Probe{}}}
	one[0].Probe.Provider, one[0].Probe.Name = "hotspot", "method__entry"
	filtered := attach.Stats{Fired: 9, Filtered: 9}
	for _, c := range []struct {
		name  string
		seen  seen
		asked remark.Asked
		want  string // parts, divided by "|"; "" for nothing
	}{
		{"events", seen{stats: attach.Stats{Fired: 2, Received: 1, Filtered: 1}, plan: one}, remark.Asked{Where: "n > 1", Sample: 2}, ""},
		{"where", seen{stats: filtered, plan: one}, remark.Asked{Where: "n > 1"}, "n > 1 held for none of 9 events"},
		{"pattern", seen{stats: filtered, plan: one}, remark.Asked{Where: `path ~ "/item/l?mp"`}, `path ~ "/item/l?mp" held for none of 9 events; in its patterns only * is special`},
		{"equal pattern", seen{stats: filtered, plan: one}, remark.Asked{Where: `n > 1 && class == "Work*"`}, `n > 1 && class == "Work*" held for none of 9 events; == compares * as it is, and ~ takes it for any characters`},
		{"snapshot's pattern", seen{stats: attach.Stats{Fired: 9, Received: 9}, plan: one}, remark.Asked{On: `path ~ "?x*"`}, `no snapshot: path ~ "?x*" held for none of 9 events; in its patterns`},
		{"sample", seen{stats: filtered, plan: one}, remark.Asked{Sample: 100}, "--sample 100 left out all of 9 events"},
		{"where and sample", seen{stats: filtered, plan: one}, remark.Asked{Where: "n > 1", Sample: 100}, "n > 1 held for none of 9 events, or --sample 100"},
		{"no snapshot", seen{stats: attach.Stats{Fired: 9, Received: 9}, plan: one}, remark.Asked{On: "n > 1"}, "no snapshot: n > 1 held for none of 9 events"},
		{"snapshots", seen{stats: attach.Stats{Fired: 9, Received: 9}, plan: one}, remark.Asked{On: "n > 1", Taken: 1}, ""},
		{"lost", seen{stats: attach.Stats{Fired: 9, Lost: 9}, plan: one}, remark.Asked{}, "9 events, all of them, were lost"},
		{"missed", seen{stats: attach.Stats{Missed: 9}, plan: one}, remark.Asked{}, ""},
		{"live", seen{plan: one}, remark.Asked{Table: prototype.Known()}, "none of them has fired|hotspot:method__entry did not fire: java "},
		{"late", seen{stats: attach.Stats{Late: 1}, plan: one}, remark.Asked{}, "none of them has fired since; they may have before"},
		{"command", seen{plan: one}, remark.Asked{Command: true, Childless: "; and no children"}, "the command fired none of them; and no children"},
		{"command, known", seen{plan: one}, remark.Asked{Command: true, Childless: "; and no children", Table: prototype.Known()}, "the command fired none of them|hotspot:method__entry did not fire: java "},
		{"command without probes", seen{}, remark.Asked{Command: true}, ""},
		{"waiting", seen{}, remark.Asked{}, "no probe has matched until now"},
		{"recorded", seen{plan: one, via: attach.ViaRecording}, remark.Asked{Table: prototype.Known()}, "the recordings have no event of these probes"},
	} {
		got := remark.Why(&c.seen, c.asked)
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, "|")
		}
		ok := len(got) == len(want)
		for i := range want {
			ok = ok && strings.HasPrefix(got[i], want[i]) && (c.name != "command, known" || !strings.Contains(got[i], "children"))
		}
		if !ok {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
