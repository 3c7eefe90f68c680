package remark

import (
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// nesting is how many starts of one key may wait, see [attach.PairStats].
const nesting = 32

// Pairs reports what became of the events of a latency.
func Pairs(stderr io.Writer, l *attach.Latency) error {
	p, err := l.Pairs()
	if err != nil {
		return err
	}
	return unpaired(stderr, fmt.Sprintf("%d pairs", p.Pairs), &p)
}

// unpaired reports what pairs there were, and what became of other starts and ends.
func unpaired(stderr io.Writer, pairs string, p *attach.PairStats) error {
	_, err := fmt.Fprintf(stderr, "sdttrace: %s, %d filtered by --where; %d starts without an end, %d ends without a start; %d starts evicted because the table was full, %d because more than %d nested\n",
		pairs, p.Dropped, p.Pending, p.Unstarted, p.Evicted, p.TooDeep, nesting)
	if err == nil && p.Torn > 0 {
		_, err = fmt.Fprintf(stderr, "sdttrace: %d more pairs are left out: events between start and end were lost, or fired before their probes were found, so that start and end need not belong together\n", p.Torn)
	}
	if why := lonely(p); err == nil && why != "" {
		_, err = fmt.Fprintf(stderr, "sdttrace: %s\n", why)
	}
	return err
}

// lonely says what to look at where there is no pair, "" where there are some or no events.
func lonely(p *attach.PairStats) string {
	starts, ends := p.Pending+p.TooDeep+p.Evicted, p.Unstarted
	switch {
	case p.Pairs+p.Dropped+p.Torn > 0 || starts+ends == 0:
		return ""
	case ends == 0:
		return "no end has fired: trace for longer, or name another end"
	case starts == 0:
		return "no start has fired: trace for longer, or name another start"
	}
	return "no start has found its end: trace for longer than a pair takes, or name arguments that are equal in both by --key, or behind the span; with machine among them, pairs are of any two processes"
}

// SlowPairs reports what became of the events of pairs.
func SlowPairs(stderr io.Writer, p *attach.Pairs, slower time.Duration) error {
	c, err := p.Counts()
	if err != nil {
		return err
	}
	pairs := fmt.Sprintf("%d pairs", c.Pairs)
	if slower > 0 {
		pairs = fmt.Sprintf("%d of %d pairs took longer than %v", c.Pairs-c.Fast, c.Pairs, slower)
	}
	return unpaired(stderr, pairs, &c)
}

// Spans reports what became of starts and ends.
func Spans(stderr io.Writer, t *session.Timeline) error {
	for i := range t.Spans {
		c, err := t.Counts(i)
		if err != nil {
			return err
		}
		if err := unpaired(stderr, fmt.Sprintf("%s: %d pairs", t.Spans[i].Text, c.Pairs), &c); err != nil {
			return err
		}
	}
	return nil
}
