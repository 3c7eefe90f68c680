package profile

import (
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
	"github.com/go-usdt/usdt/total"
)

// AddGroup adds a group of events whose keys have a stack: their number and, in a profile of two
// values, their sum. Other keys are labels. Groups of later intervals may follow.
func (p *Profile) AddGroup(g *total.Group) {
	s := &sample{}
	for _, key := range g.By {
		switch v := key.Value.(type) {
		case *event.Stack:
			s.stack = p.stack(v)
		case string:
			if key.Name == "comm" {
				s.comm = v
			}
			s.texts = append(s.texts, text{key.Name, v[:min(len(v), maxText)]})
		case time.Duration:
			s.numbers = append(s.numbers, number{key.Name, "nanoseconds", int64(v)})
		case int64:
			s.numbers = append(s.numbers, number{key.Name, "", v})
		case uint64:
			s.numbers = append(s.numbers, number{key.Name, "", int64(v)})
		case nil:
		default:
			s.texts = append(s.texts, text{key.Name, key.Text()})
		}
	}
	switch {
	case g.Other: // without values in its keys
		s.stack = p.stand("(other)")
	case s.stack == nil:
		s.stack = p.stand("[unknown]")
	}
	values := []int64{int64(g.Count)}
	if len(p.values) > 1 {
		n, _ := p.number(g.Sum)
		values = append(values, n)
	}
	p.add(s, values...)
}

// stand returns what stands for stacks that are not known.
func (p *Profile) stand(name string) []*calls {
	return []*calls{p.callsOf([]symbols.Frame{{Func: name}})}
}
