package remark

import (
	"fmt"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
)

// nesting is how many starts of one key may wait, see [attach.PairStats].
const nesting = 32

// span is what became of the starts and ends of a session's pairs.
type span struct {
	attach.PairStats
	text   string   // START,END of one of several, and ": "; empty for the only pairs that there are
	probes []string // of one of several
}

// unfired reports whether neither a start nor an end has fired.
func (s *span) unfired() bool { return s.PairStats == attach.PairStats{} }

// spansOf returns the pairs of a session.
func spansOf(s session.Session) (all []span, err error) {
	var one span
	switch s := s.(type) {
	case *attach.Latency:
		one.PairStats, err = s.Pairs()
	case *attach.Pairs:
		one.PairStats, err = s.Counts()
	case *session.Timeline:
		for i := range s.Spans {
			p, err := s.Counts(i)
			if err != nil {
				return nil, err
			}
			all = append(all, span{p, s.Spans[i].Text + ": ", []string{s.Spans[i].Start, s.Spans[i].End}})
		}
		return all, nil
	default:
		return nil, nil
	}
	return []span{one}, err
}

// pairs returns what the summary says of pairs, in front of their events; "" of other sessions, and
// of several spans, which have a line each.
func pairs(stderr io.Writer, s session.Session, where string) (string, error) {
	all, err := spansOf(s)
	if err != nil || len(all) == 0 {
		return "", err
	}
	for i := range all {
		text := all[i].text + matched(stderr, &all[i].PairStats, where)
		if len(all) == 1 {
			return text + "; ", nil
		}
		fmt.Fprintf(stderr, "sdttrace: %s\n", text)
	}
	return "", nil
}

// matched returns what pairs there were, and what became of other starts and ends, if there were any. Pairs
// that a known provider's own condition leaves out are none for the user.
func matched(stderr io.Writer, p *attach.PairStats, where string) string {
	dropped := p.Dropped
	if where == "" {
		dropped = 0
	}
	text := printable.Many(p.Pairs, "pair", "pairs")
	if p.Fast > 0 {
		text = fmt.Sprintf("%s of %s", printable.Many(p.Pairs-p.Fast, "slow one", "slow ones"), printable.Many(p.Pairs, "pair", "pairs"))
	}
	for _, c := range []struct {
		n         uint64
		one, more string
		text      string
	}{
		{dropped, "pair", "pairs", "that conditions leave out"},
		{p.Pending, "start", "starts", "without an end"},
		{p.Unstarted, "end", "ends", "without a start"},
		{p.Replaced, "start", "starts", "that another start followed before an end"},
		{p.Evicted, "start", "starts", "evicted since the table was full"},
		{p.TooDeep, "start", "starts", fmt.Sprintf("evicted since more than %d nested", nesting)},
	} {
		if c.n > 0 {
			text += ", " + printable.Many(c.n, c.one, c.more) + " " + c.text
		}
	}
	if p.Torn > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s left out: events between start and end were lost or came before their probes were found\n", printable.Many(p.Torn, "more pair is", "more pairs are"))
	}
	return text
}

// lonely says why there is no pair, and what to look at, "" where there are some or no events.
func lonely(p *attach.PairStats, where string, recorded bool) string {
	starts, ends := p.Pending+p.TooDeep+p.Evicted+p.Replaced, p.Unstarted
	longer := "trace for longer, or "
	if recorded {
		longer = ""
	}
	switch {
	case p.Pairs == 0 && p.Dropped > 0 && where != "":
		return fmt.Sprintf("%s held for none of %s%s", where, printable.Many(p.Dropped, "pair", "pairs"), stars(where))
	case p.Pairs+p.Dropped+p.Torn > 0 || starts+ends == 0:
		return ""
	case ends == 0:
		return "no end has fired: " + longer + "name another end"
	case starts == 0:
		return "no start has fired: " + longer + "name another start"
	}
	return "no start has found its end: " + longer + "name what is equal in both: --key A, or START,END:A of --span; A,machine between processes"
}
