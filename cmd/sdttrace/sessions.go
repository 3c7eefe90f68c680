package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-usdt/usdt/attach"
)

// sessions are several sessions that are followed as one. All are added before any other
// use.
type sessions struct {
	all []session

	mu    sync.Mutex
	known []int // the sites of each session that PlanSince has returned
}

// session is a source of events or pairs.
type session interface {
	tracer
	searcher
}

func (s *sessions) add(one session) { s.all, s.known = append(s.all, one), append(s.known, 0) }

// Via returns the way of the first one, which is that of the others.
func (s *sessions) Via() attach.Via { return s.all[0].Via() }

func (s *sessions) Plan() (all attach.Plan) {
	for _, one := range s.all {
		all = append(all, one.Plan()...)
	}
	return all
}

// PlanSince returns all sites if n is 0, otherwise those since the last call, and how many
// there are.
func (s *sessions) PlanSince(n int) (plan attach.Plan, known int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.all {
		if n == 0 {
			s.known[i] = 0
		}
		var more attach.Plan
		more, s.known[i] = one.PlanSince(s.known[i])
		plan, known = append(plan, more...), known+s.known[i]
	}
	return plan, known
}

func (s *sessions) Stats() (sum attach.Stats, err error) {
	for _, one := range s.all {
		st, failed := one.Stats()
		err = cmp.Or(err, failed)
		sum.Add(st)
	}
	return sum, err
}

// Refused returns what could not be read, once, also if several sessions tried.
func (s *sessions) Refused() (errs []error) {
	for _, one := range s.all {
		for _, err := range one.Refused() {
			same := func(other error) bool { return other.Error() == err.Error() }
			if !slices.ContainsFunc(errs, same) {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

func (s *sessions) Pending() (n int) {
	for _, one := range s.all {
		n += one.Pending()
	}
	return n
}

func (s *sessions) Wait(ctx context.Context) error {
	var errs []error
	for _, one := range s.all {
		errs = append(errs, one.Wait(ctx))
	}
	return errors.Join(errs...)
}

func (s *sessions) Close() error {
	var errs []error
	for _, one := range s.all {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

func (s *sessions) Rescan(held bool) error {
	var errs []error
	for _, one := range s.all {
		errs = append(errs, one.Rescan(held))
	}
	return errors.Join(errs...)
}
