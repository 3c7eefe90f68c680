package main

import (
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

// printRemarks reports why sites are not traced, and the other remarks of the plan,
// once per cause.
func printRemarks(w io.Writer, plan attach.Plan) {
	type cause struct {
		remark string
		first  *attach.Site
		n      int
	}
	var causes []*cause
	byRemark := map[string]*cause{}
	add := func(s *attach.Site, remark string) {
		c := byRemark[remark]
		if c == nil {
			c = &cause{remark: remark, first: s}
			byRemark[remark] = c
			causes = append(causes, c)
		}
		c.n++
	}
	for i := range plan {
		s := &plan[i]
		if s.Reason != nil {
			add(s, "not attached: "+s.Reason.Error())
		}
		for _, n := range s.Notes {
			add(s, n)
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
