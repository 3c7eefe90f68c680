package remark

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// TestLossRemedy checks that what is said of lost events fits where most were lost.
func TestLossRemedy(t *testing.T) {
	events, count, latency, slower := &attach.Session{}, &attach.Aggregate{}, &attach.Latency{}, &attach.Pairs{}
	for _, test := range []struct {
		session                     session.Session
		lost, full, contended, deep uint64
		want                        string
	}{
		{events, 5, 5, 0, 0, "the buffer of 4M is full"},
		{events, 5, 1, 4, 0, "too many goroutines write"},
		{count, 5, 5, 0, 0, "the shared memory is full"},
		{count, 5, 1, 0, 0, "an argument cannot be read"},
		{latency, 9, 9, 0, 0, "the shared memory is full"},
		{latency, 9, 0, 9, 0, "too many goroutines write"},
		{latency, 9, 0, 0, 0, "too many starts are pending"},
		{slower, 9, 9, 0, 0, "the buffer of 4M is full"},
		{slower, 9, 0, 9, 0, "too many goroutines write"},
		{slower, 9, 0, 0, 0, "too many starts are pending"},
		{slower, 9, 0, 0, 9, "more than 32 starts of a key followed each other"},
		{latency, 9, 0, 0, 5, "more than 32 starts of a key followed each other"},
		{latency, 9, 0, 0, 4, "too many starts are pending"},
	} {
		if got := lossRemedy(test.session, "4M", test.lost, test.full, test.contended, test.deep); !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: %q, want %q", test, got, test.want)
		}
	}
}

// TestMissed checks what is said of events that programs did not see, and of sums that lack them.
func TestMissed(t *testing.T) {
	const lacking = "what was added up is incomplete"
	for _, s := range []session.Session{&attach.Session{}, &attach.Aggregate{}, &attach.Latency{}, &attach.Pairs{}} {
		_, sums := s.(session.Aggregate)
		if got := missed(s, 7); !strings.HasPrefix(got, "7 events missed: ") || strings.Contains(got, lacking) != sums {
			t.Errorf("of %T: %q", s, got)
		}
	}
}
