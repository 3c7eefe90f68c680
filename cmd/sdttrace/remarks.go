package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/printable"
)

// printPlan reports what is traced.
func printPlan(w io.Writer, plan attach.Plan) {
	fmt.Fprintf(w, "sdttrace: attached to %d of %d sites; Ctrl-C ends\n", plan.Attached(), len(plan))
	printRemarks(w, plan)
}

// printRemarks reports why sites are not traced, what of their events cannot be computed, and
// the other remarks of the plan, once per cause.
func printRemarks(w io.Writer, plan attach.Plan) { printSome(w, plan, true) }

// printIncomplete reports what sums and groups lack of the events of sites.
func printIncomplete(w io.Writer, plan attach.Plan) { printSome(w, plan, false) }

func printSome(w io.Writer, plan attach.Plan, all bool) {
	type cause struct {
		remark string
		first  *attach.Site
		n      int
	}
	var causes []*cause
	byRemark := map[string]*cause{}
	count := func(s *attach.Site, same, remark string) {
		c := byRemark[same]
		if c == nil {
			c = &cause{remark: remark, first: s}
			byRemark[same] = c
			causes = append(causes, c)
		}
		c.n++
	}
	add := func(s *attach.Site, remark string) { count(s, remark, remark) }
	for i := range plan {
		s := &plan[i]
		switch remark := "not attached: " + fmt.Sprint(s.Reason); {
		case s.Reason == nil:
		case all:
			add(s, remark)
		case errors.Is(s.Reason, attach.ErrAggregation) || errors.As(s.Reason, new(*attach.WhereError)):
			count(s, "unfit", remark)
		}
		for _, err := range s.Uncomputed {
			add(s, err.Error())
		}
		for _, n := range s.Notes {
			if all {
				add(s, n)
			}
		}
	}
	for _, c := range causes {
		more := ""
		if c.n > 1 {
			more = fmt.Sprintf(" (and %d more)", c.n-1)
		}
		p := &c.first.Probe
		remark := fmt.Sprintf("%s%s:%s at %s+%#x%s: %s", kindPrefix(p), p.Provider, p.Name, p.Path, c.first.Offset, more, c.remark)
		fmt.Fprintf(w, "sdttrace: %s\n", printable.String(remark))
	}
}
