package remark

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// Plan reports what is traced; verbose adds how the kernel probes it.
func Plan(w io.Writer, plan attach.Plan, verbose bool) {
	fmt.Fprintf(w, "sdttrace: attached to %d of %s; Ctrl-C ends\n", plan.Attached(), printable.Many(len(plan), "site", "sites"))
	kernel := 0
	for i := range plan {
		if plan[i].Attached && plan[i].Probe.Kind.InKernel() {
			kernel++
		}
	}
	if kernel > manyKernel {
		fmt.Fprintf(w, "sdttrace: %d functions and tracepoints of the kernel are traced: each call costs a microsecond or more, in all processes, and detaching may take seconds\n", kernel)
	}
	sites(w, plan, verbose)
}

// manyKernel is how many functions of the kernel need no warning.
const manyKernel = 1000

// LeftOut reports how many functions and tracepoints of the kernel patterns leave out.
func LeftOut(w io.Writer, s session.Session) {
	if n := s.Hot(); n > 0 {
		fmt.Fprintf(w, "sdttrace: %s left out: name one, or an event's system, exactly to trace it\n", printable.Many(n, "function or event of the kernel that runs all the time is", "functions or events of the kernel that run all the time are"))
	}
}

// Lines reports that the variables at lines of source files are not shown unless they are named, and
// names them.
func Lines(w io.Writer, plan attach.Plan) {
	for i := range plan {
		if p := &plan[i].Probe; plan[i].Attached && p.Source != nil && p.Source.Line != "" {
			such := ""
			if names := inScope(p.Source.Variables); len(names) > 0 {
				such = ", such as --args " + shell.Quote(strings.Join(names, ","))
			}
			fmt.Fprintf(w, "sdttrace: a line shows the variables that --args names%s; sdttrace list -v %s lists the variables in scope\n", printable.String(such), shell.Quote(selector.Line(p.Path, p.Source.Line)))
			return
		}
	}
}

// maxNamed is how many variables are named in place of a list.
const maxNamed = 6

// inScope returns the names of variables that can be read at a line, at most maxNamed.
func inScope(all []reader.Variable) (names []string) {
	for i := range all {
		if v := &all[i]; v.Err == nil && !v.Global && !v.Behind && Whole(v.Name, all) && len(names) < maxNamed {
			names = append(names, v.Name)
		}
	}
	return names
}

// Whole reports whether a name is that of a variable and not of a member of another one. Compilers of
// Go name the parts of a slice or string that they keep apart s.array and s.len, without an s.
func Whole(name string, all []reader.Variable) bool {
	return !slices.ContainsFunc(all, func(v reader.Variable) bool { return strings.HasPrefix(name, v.Name+".") })
}

// maxFaultsShown bounds the faults that are named.
const maxFaultsShown = 20

// Faults reports which arguments of a user's condition could not be read when events fired. The condition
// of a known pair says by itself which starts have such arguments.
func Faults(w io.Writer, s session.Session, where string) {
	faults := slices.DeleteFunc(s.Faults(), func(f attach.Fault) bool { return !f.Lost && !strings.Contains(where, f.Argument) })
	for i := range faults {
		f := &faults[i]
		if i == maxFaultsShown {
			fmt.Fprintf(w, "sdttrace: and %s that could not be read\n", printable.Many(len(faults)-i, "more argument", "more arguments"))
			return
		}
		p, fate, read := &f.Site.Probe, "did not pass", "read"
		if f.Lost {
			fate, read = "lost", "added up"
		}
		remark := fmt.Sprintf("%s%s:%s at %s+%#x: %s %s, as %s could not be %s: %v", format.KindPrefix(p), p.Provider, p.Name, p.Path, f.Site.Offset, printable.Many(f.Events, "event", "events"), fate, f.Argument, read, f.Err)
		fmt.Fprintf(w, "sdttrace: %s\n", printable.String(remark))
	}
}

// sites reports why sites are not traced, what of their events cannot be computed, and
// the other remarks of the plan, once per cause.
func sites(w io.Writer, plan attach.Plan, verbose bool) {
	printSome(w, plan, "not attached", true, verbose)
}

// internals begins the notes of a site that say how the kernel probes it.
const internals = "nop"

// Incomplete reports what sums and groups lack of the events of sites, to which nothing is attached
// in recordings.
func Incomplete(w io.Writer, plan attach.Plan, recorded bool) {
	fate := "not attached"
	if recorded {
		fate = "left out"
	}
	printSome(w, plan, fate, false, false)
}

// Unfit returns why no site is traced, if the condition fits none; nil otherwise.
func Unfit(plan attach.Plan) error {
	for i := range plan {
		if where := (*attach.WhereError)(nil); !errors.As(plan[i].Reason, &where) {
			return nil
		}
	}
	if len(plan) == 0 {
		return nil
	}
	return plan[0].Reason
}

func printSome(w io.Writer, plan attach.Plan, fate string, all, verbose bool) {
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
		switch remark := fate + ": " + fmt.Sprint(s.Reason); {
		case s.Reason == nil:
		case all:
			add(s, remark)
		case errors.Is(s.Reason, attach.ErrAggregation) || errors.As(s.Reason, new(*attach.WhereError)):
			count(s, "unfit", remark)
		}
		for _, err := range s.Uncomputed {
			add(s, err.Error())
		}
		if p := &s.Probe; all && s.Reason == nil && p.Target != nil && p.Target.Typed != nil && !p.Target.Typed.Known && p.Target.Typed.Err != nil {
			add(s, fmt.Sprintf("its arguments have no names: %v", p.Target.Typed.Err))
		}
		for _, n := range s.Notes {
			if all && (verbose || !strings.HasPrefix(n, internals)) {
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
		if p.Kind.InKernel() {
			once(w, c.remark, printable.String(fmt.Sprintf("%s%s:%s%s: %s", format.KindPrefix(p), p.Provider, p.Name, more, c.remark)))
			continue
		}
		remark := fmt.Sprintf("%s%s:%s at %s+%#x%s: %s", format.KindPrefix(p), p.Provider, p.Name, p.Path, c.first.Offset, more, c.remark)
		once(w, c.remark, printable.String(remark))
	}
}
