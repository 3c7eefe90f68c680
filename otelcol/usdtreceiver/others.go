package usdtreceiver

import "github.com/go-usdt/usdt/total"

// others counts what a session adds up in (other), beyond the bound of groups.
type others struct {
	e      *env
	before uint64 // of earlier sessions
	delta  bool   // groups are read anew each time
	said   bool
}

func newOthers(e *env, delta bool) *others {
	return &others{e: e, before: e.counts.others.Load(), delta: delta}
}

// see counts the events of the group of others among the ones that were read.
func (o *others) see(groups []total.Group) {
	for i := range groups {
		if !groups[i].Other {
			continue
		}
		now := o.before + groups[i].Count
		if o.e.counts.others.Store(now); o.delta {
			o.before = now
		}
		if !o.said {
			o.said = true
			o.e.log().Warn("There are more groups than max_groups; the rest is added up in (other).")
		}
	}
}
