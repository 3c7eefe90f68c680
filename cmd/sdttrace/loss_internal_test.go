package main

import (
	"strings"
	"testing"
)

// TestLossRemedy checks that what is said of lost events fits where most were lost.
func TestLossRemedy(t *testing.T) {
	events, count := aggregateFlags{}, aggregateFlags{count: true}
	by, latency := aggregateFlags{count: true, by: []string{"n"}}, aggregateFlags{latency: "p:x,p:y"}
	slower := aggregateFlags{latency: "p:x,p:y", slower: threshold{given: true}}
	for _, test := range []struct {
		flags                 aggregateFlags
		lost, full, contended uint64
		want                  string
	}{
		{events, 5, 5, 0, "the buffer of 4M is full"},
		{events, 5, 1, 4, "too many goroutines write"},
		{count, 5, 5, 0, "the shared memory is full"},
		{count, 5, 1, 0, "an argument cannot be read"},
		{by, 5, 5, 0, "the shared memory is full"},
		{by, 5, 0, 0, "an argument cannot be read"},
		{latency, 9, 9, 0, "the shared memory is full"},
		{latency, 9, 0, 9, "too many goroutines write"},
		{latency, 9, 0, 0, "there is no room for so many pending starts"},
		{slower, 9, 9, 0, "the buffer of 4M is full"},
		{slower, 9, 0, 9, "too many goroutines write"},
		{slower, 9, 0, 0, "there is no room for so many pending starts"},
	} {
		f := &traceFlags{aggregate: test.flags}
		if got := f.lossRemedy(test.lost, test.full, test.contended); !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: %q, want %q", test, got, test.want)
		}
	}
}
