package remark

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/total"
)

// short is the latency of which the trap into the kernel may be a good part: a trap takes a few
// microseconds, and ten where the kernel is a guest.
const short = 30 * time.Microsecond

// Brevity is how short the latencies of groups are.
type Brevity struct {
	shortest time.Duration
	seen     bool
}

// See takes the groups' average, or else the first of their quantiles or the shortest latency.
func (b *Brevity) See(groups []total.Group) {
	for i := range groups {
		g := &groups[i]
		typical := g.Avg
		if typical == nil && len(g.Quantiles) > 0 {
			typical = g.Quantiles[0].Value
		}
		if typical == nil {
			typical = g.Min
		}
		took, ok := nanoseconds(typical)
		if ok && g.Count > 0 && (!b.seen || took < b.shortest) {
			b.shortest, b.seen = took, true
		}
	}
}

func nanoseconds(v any) (time.Duration, bool) {
	switch v := v.(type) {
	case uint64:
		return time.Duration(min(v, uint64(short))), true
	case int64:
		return time.Duration(v), true
	case float64:
		return time.Duration(min(v, float64(short))), true
	}
	return 0, false
}

// Announce says that tracing is a good part of latencies, if they are so short and the kernel is
// entered at their probes.
func (b *Brevity) Announce(stderr io.Writer, s session.Session) {
	if !b.seen || b.shortest >= short || s.Via() != attach.ViaKernel || !slices.ContainsFunc(s.Plan(), trapped) {
		return
	}
	fmt.Fprintln(stderr, "sdttrace: tracing may be the greater part of the shortest latencies: each has about the cost of one event in it, which -v measures")
}

// trapped reports whether a program enters the kernel at a site.
func trapped(s attach.Site) bool { return s.Attached && !s.Probe.Kind.InKernel() }
