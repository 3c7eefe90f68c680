package bind

import (
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// Calls returns, by the starts at entries of functions, the ends at their returns which need nothing of
// the start except its time: a program that the kernel runs at both can match them by the call itself.
func (l *Layout) Calls(plan site.Plan, schemas []*Schema) map[int]int {
	if l == nil || l.Pairs == nil || l.Pairs.Key != nil || l.Pairs.Whole || l.Pairs.Flat || !l.Pairs.calls() {
		return nil
	}
	type place struct {
		function
		owner  discover.Owner
		offset uint64
	}
	ends, calls := map[place]int{}, map[int]int{}
	for _, role := range []query.Role{query.RoleEnd, query.RoleStart} {
		for i, sc := range schemas {
			s := &plan[i]
			if sc == nil || !byCall(s) || sc.arrives() || sc.Computed != nil {
				continue
			}
			if a := sc.Sig.Aggregate; a == nil || a.Role != role || a.StartArgs > 0 || a.Missing() {
				continue
			}
			if role == query.RoleStart && sc.Sig.ReadsMemory() {
				continue // a fault would be taken for one at the end, which the cookie names
			}
			at := place{callee(s), s.Owner(), s.Offset}
			if role == query.RoleEnd {
				ends[at] = i
			} else if end, ok := ends[at]; ok {
				calls[i] = end
				delete(ends, at)
			}
		}
	}
	return calls
}

// byCall reports whether the kernel knows which entry of the site's function belongs to which return.
// Go's functions return at return instructions, and trampolines have no links for both before Linux 7.
func byCall(s *site.Site) bool {
	p := &s.Probe
	return s.Carrier == site.ByFrame && !s.Local && !p.Kind.ByTrampoline() && !p.AtRET && p.SemaphoreOffset == 0 &&
		(p.Target == nil || !p.Target.Convention.IsGo())
}
