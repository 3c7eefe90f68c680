package profile

import (
	"fmt"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
)

// AddGroup adds a group of events that have such keys, a stack among them: their number, and
// the sum of what is added up, nil for nothing. The group of others has no values in its keys.
func (p *Profile) AddGroup(by []event.Arg, other bool, count uint64, sum any) {
	s := &sample{}
	for i := range by {
		switch v := by[i].Value.(type) {
		case *event.Stack:
			s.stack = p.stack(v)
		case string:
			if by[i].Name == "comm" {
				s.comm = v
			}
			s.texts = append(s.texts, text{by[i].Name, v[:min(len(v), maxText)]})
		case time.Duration:
			s.numbers = append(s.numbers, number{by[i].Name, "nanoseconds", int64(v)})
		case int64:
			s.numbers = append(s.numbers, number{by[i].Name, "", v})
		case uint64:
			s.numbers = append(s.numbers, number{by[i].Name, "", int64(v)})
		case nil:
		default:
			s.texts = append(s.texts, text{by[i].Name, fmt.Sprint(v)})
		}
	}
	switch {
	case other:
		s.stack = p.stand("(other)")
	case s.stack == nil:
		s.stack = p.stand("[unknown]")
	}
	values := []int64{int64(count)}
	if sum != nil {
		n, _ := p.number(sum)
		values = append(values, n)
	}
	p.add(s, values...)
}

// stand returns what stands for stacks that are not known.
func (p *Profile) stand(name string) []*calls {
	return []*calls{p.callsOf([]symbols.Frame{{Func: name}})}
}
