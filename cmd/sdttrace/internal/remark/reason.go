package remark

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Asked is what a session was asked for, as far as that may be why there is nothing to show.
type Asked struct {
	Where     string // the condition of events
	On        string // the condition of snapshots
	Taken     uint64 // snapshots
	Sample    int    // one event in so many
	Command   bool   // sdttrace has started the process
	Childless string // says that its children are not traced; empty if they are
	Table     *prototype.Table
}

// outcome is the result of a session.
type outcome struct {
	Asked
	attach.Stats
	session.Session
	spans    []span
	recorded bool
	known    bool // why none of the probes has fired
}

// unfired reports whether no probe has fired.
func (o *outcome) unfired() bool { return o.Fired+o.Missed == 0 }

// left counts the events that conditions and samples left out.
func (o *outcome) left() uint64 { return o.Filtered - o.Unmatched }

// nowhere reports whether no probe has been found.
func (o *outcome) nowhere() bool { return o.Found == 0 }

// reasons explain why there is nothing to show, each with when it applies. The first one that
// applies is printed, beside what is known of each pair of probes and of the probes that have not
// fired.
var reasons = []struct {
	applies func(o *outcome) bool
	say     func(o *outcome) string
}{
	{
		func(o *outcome) bool { return o.On != "" && o.Received > 0 && o.Taken == 0 },
		func(o *outcome) string {
			return fmt.Sprintf("no snapshot: %s held for none of %s%s", o.On, printable.Many(o.Received, "event", "events"), stars(o.On))
		},
	},
	{
		func(o *outcome) bool { return o.Received > 0 || len(o.spans) > 0 && !o.unfired() },
		nil,
	},
	{
		func(o *outcome) bool { return o.left() > 0 && o.Where != "" && o.Sample > 1 },
		func(o *outcome) string {
			return fmt.Sprintf("%s held for none of %s, or --sample %d left out those for which it did%s", o.Where, printable.Many(o.left(), "event", "events"), o.Sample, stars(o.Where))
		},
	},
	{
		func(o *outcome) bool { return o.left() > 0 && o.Where != "" },
		func(o *outcome) string {
			return fmt.Sprintf("%s held for none of %s%s", o.Where, printable.Many(o.left(), "event", "events"), stars(o.Where))
		},
	},
	{
		func(o *outcome) bool { return o.left() > 0 && o.Sample > 1 },
		func(o *outcome) string {
			return fmt.Sprintf("--sample %d left out all of %s", o.Sample, printable.Many(o.left(), "event", "events"))
		},
	},
	{
		func(o *outcome) bool { return o.Lost > 0 },
		func(o *outcome) string {
			return printable.Many(o.Lost, "event, the only one, was", "events, all of them, were") + " lost"
		},
	},
	{
		func(o *outcome) bool { return !o.unfired() || o.nowhere() && o.Command }, // an error says so
		nil,
	},
	{
		(*outcome).nowhere,
		func(o *outcome) string { return "no probe has matched until now" },
	},
	{
		func(o *outcome) bool { return o.recorded },
		func(o *outcome) string {
			return "the recordings have no event of these probes: sdttrace count --by probe --from shows what they have"
		},
	},
	{
		func(o *outcome) bool { return o.Command && o.known },
		func(o *outcome) string { return "the command fired none of them" },
	},
	{
		func(o *outcome) bool { return o.Command },
		func(o *outcome) string { return "the command fired none of them" + o.Childless },
	},
	{
		func(o *outcome) bool { return o.Late > 0 },
		func(o *outcome) string { return "none of them has fired since; they may have before" },
	},
	{
		func(o *outcome) bool { return true },
		func(o *outcome) string { return "none of them has fired" },
	},
}

// wild finds a pattern of a condition with '?' or '[', which have a meaning in patterns of probes.
var wild = regexp.MustCompile(`~\s*("([^"\\]|\\.)*[?[]|'([^'\\]|\\.)*[?[])`)

// equal finds a text with '*' that a condition compares as it is.
var equal = regexp.MustCompile(`[^!<>]==?\s*("([^"\\]|\\.)*\*|'([^'\\]|\\.)*\*)`)

// stars says what is special in the patterns of a condition that may have been written for another
// meaning, "" for others.
func stars(condition string) string {
	switch {
	case wild.MatchString(condition):
		return "; in its patterns only * is special, and ? and [ are themselves, as in sql(query)"
	case equal.MatchString(condition):
		return "; == compares * as it is, and ~ takes it for any characters"
	}
	return ""
}

// Why returns why a session shows nothing, or no pairs, one sentence for each reason.
func Why(s session.Session, asked Asked) (why []string) {
	st, err := s.Stats()
	spans, failed := spansOf(s)
	if err != nil || failed != nil {
		return nil // the summary says so
	}
	o := &outcome{asked, st, s, spans, s.Via() == attach.ViaRecording, explained(s.Plan(), asked.Table)}
	for i := range spans {
		if !o.unfired() && !o.recorded && spans[i].unfired() {
			why = append(why, silent(s.Plan(), asked.Table, spans[i].probes)...)
		}
		text := lonely(&spans[i].PairStats, o.Where, o.recorded)
		if _, addsUp := s.(*attach.Latency); addsUp && text != "" && spans[i].Pending > 0 {
			text += "; --slower 1ms shows the starts that have not ended"
		}
		if text != "" && len(spans) > 1 {
			why = append(why, spans[i].text+text)
		} else if text != "" {
			why = append(why, text)
		}
	}
	for _, r := range reasons {
		if r.applies(o) {
			if r.say != nil {
				why = append(why, r.say(o))
			}
			break
		}
	}
	if o.unfired() && !o.recorded {
		why = append(why, silent(s.Plan(), asked.Table, nil)...)
	}
	if o.Taken == 0 && o.Received == 0 && o.left() > 0 || o.On != "" && o.Taken == 0 && o.Received > 0 {
		why = append(why, format.Unlike(asked.Table, s.Plan(), asked.Where+" "+asked.On)...)
	}
	for i := range why {
		why[i] = printable.String(why[i])
	}
	return why
}

// silent returns why probes have not fired, the named ones or all, as far as that is known of
// their programs.
func silent(plan attach.Plan, table *prototype.Table, named []string) []string {
	return known(plan, " did not fire: ", func(p *reader.Probe) string {
		isNamed := func(name string) bool {
			s, err := selector.Parse(name)
			return err == nil && s.Match(p.Path, p.Provider, p.Name)
		}
		if named != nil && !slices.ContainsFunc(named, isNamed) {
			return ""
		}
		return table.Silent(p.Provider, p.Name)
	})
}

// explained reports whether it is known of each probe of a plan why it may never fire.
func explained(plan attach.Plan, table *prototype.Table) bool {
	return len(plan) > 0 && !slices.ContainsFunc(plan, func(s attach.Site) bool {
		return table.Silent(s.Probe.Provider, s.Probe.Name) == ""
	})
}

// known returns what is known of the probes of a plan, behind their names and between: one sentence for
// all probes with the same remark.
func known(plan attach.Plan, between string, of func(*reader.Probe) string) (all []string) {
	var texts []string
	probes := map[string][]string{} // by text
	for i := range plan {
		p := &plan[i].Probe
		text, probe := of(p), p.Provider+":"+p.Name
		if text == "" || slices.Contains(probes[text], probe) {
			continue
		}
		if probes[text] == nil {
			texts = append(texts, text)
		}
		probes[text] = append(probes[text], probe)
	}
	for _, text := range texts {
		slices.Sort(probes[text])
		all = append(all, strings.Join(probes[text], ", ")+between+text)
	}
	return all
}

// Unfired reports why a session shows nothing.
func Unfired(stderr io.Writer, s session.Session, asked Asked) {
	for _, why := range Why(s, asked) {
		fmt.Fprintf(stderr, "sdttrace: %s\n", why)
	}
}

// NoMatch reports which of a session's selectors name nothing yet, and what may have been meant.
func NoMatch(stderr io.Writer, s session.Session, behind string) {
	for _, err := range s.NoMatch() {
		fmt.Fprintf(stderr, "sdttrace: %s%s\n", printable.String(err.Error()), behind)
	}
}
