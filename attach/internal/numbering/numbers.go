package numbering

import (
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// Numbers gives sites their numbers, and takes back the numbers of sites that
// have been left, because short-lived programs would use up more and more. The zero value has given
// none.
type Numbers struct {
	next   int
	free   []int
	byName map[string]int           // of an aggregate, whose groups have one for a probe
	of     map[discover.Owner][]int // of sites that may be left
	left   []leftNumbers
}

// leftNumbers are the numbers of sites that no longer fire, but whose events may
// still be waiting for a reader.
type leftNumbers struct {
	numbers []int
	drained int // how often the ring was empty since, of which the first time may have been too early
}

// Give returns the numbers of the sites of plan, -1 for refused ones. groups are the
// numbers in keys of an aggregate's groups, nil for events: one for each that groupName returns. Programs that add up
// use these, and if shared says so the sites of a probe have no other number; records and stacks
// name the site that has fired by its own, since that says what they hold.
func (n *Numbers) Give(plan site.Plan, schemas []*bind.Schema, groupName func(*reader.Probe) string, shared bool) (numbers, groups []int) {
	aggregate := groupName != nil
	if n.of == nil {
		n.byName, n.of = make(map[string]int, len(plan)), map[discover.Owner][]int{}
	}
	numbers = make([]int, len(plan))
	if aggregate {
		groups = make([]int, len(plan))
	}
	for i := range plan {
		s := &plan[i]
		if schemas[i] == nil {
			numbers[i] = -1
			continue
		}
		name, group, known := "", 0, false
		if aggregate {
			name = groupName(&s.Probe)
			group, known = n.byName[name]
		}
		number := group
		switch {
		case known && shared && !s.Local:
		case len(n.free) > 0:
			number = n.free[len(n.free)-1]
			n.free = n.free[:len(n.free)-1]
		default:
			number = n.next
			n.next++
		}
		numbers[i] = number
		if aggregate {
			if !known {
				group = number
				n.byName[name] = group // for ever: groups may have it
			}
			groups[i] = group
		}
		if o := s.Owner(); o != (discover.Owner{}) && (!aggregate || number != group) {
			n.of[o] = append(n.of[o], number)
		}
	}
	return numbers, groups
}

// Take takes the numbers of sites of files that are being left. Sites that are found there from
// now on get others.
func (n *Numbers) Take(left []discover.Owner) (taken []int) {
	for _, o := range left {
		taken = append(taken, n.of[o]...)
		delete(n.of, o)
	}
	return taken
}

// Left notes that the sites that had the numbers have been left, and fire no more.
func (n *Numbers) Left(taken []int) {
	if len(taken) > 0 {
		n.left = append(n.left, leftNumbers{numbers: taken})
	}
}

// Recycle frees the numbers of which no event is left with a source or its reader, and returns them.
// It asks, if it matters, whether the reader has nothing in hand, and then whether the source is empty.
func (n *Numbers) Recycle(idle, empty func() bool) (again []int) {
	if len(n.left) == 0 {
		return nil
	}
	// A rescan lies between an empty source and the time when readers have nothing
	// in hand: records taken from the source before it count as taken by then.
	isIdle, isEmpty := idle(), empty()
	n.left = slices.DeleteFunc(n.left, func(l leftNumbers) bool {
		if isIdle && l.drained > 1 {
			again = append(again, l.numbers...)
			return true
		}
		return false
	})
	for i := range n.left {
		l := &n.left[i]
		if isEmpty {
			l.drained++
		}
	}
	n.free = append(n.free, again...)
	return again
}

// Leaving returns how many numbers are still to be freed.
func (n *Numbers) Leaving() (sum int) {
	for _, l := range n.left {
		sum += len(l.numbers)
	}
	return sum
}
