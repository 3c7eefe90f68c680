package providertest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// failing is a test that records why it failed. Code that it runs must run in attempt.
type failing struct {
	testing.TB
	fatal    string
	err      string
	cleanups []func()
}

func (f *failing) Helper()          {}
func (f *failing) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *failing) Errorf(format string, args ...any) {
	f.err += fmt.Sprintf(format, args...)
}
func (f *failing) Fatalf(format string, args ...any) {
	f.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// end runs the test's cleanup functions.
func (f *failing) end() {
	for _, c := range f.cleanups {
		c()
	}
}

// attempt returns why a test failed at once, or "" if it did not.
func attempt(test func(testing.TB)) string {
	var f failing
	done := make(chan bool)
	go func() {
		defer close(done)
		test(&f)
	}()
	<-done
	f.end()
	return f.fatal
}

// TestFatal checks the message of a test that records what it cannot.
func TestFatal(t *testing.T) {
	wrong := provider.New("rectestwrong", nil)
	provider.NewProbe1[int](wrong, "a-b", "n")
	some := provider.New("rectestsome", nil)
	provider.NewProbe0(some, "request_start")
	provider.NewProbe0(some, "request_done")
	for _, test := range []struct {
		try  func(t testing.TB)
		want string
	}{
		{func(t testing.TB) { providertest.Record(t, wrong) }, `record provider "rectestwrong": declare probe rectestwrong:a-b at `},
		{func(t testing.TB) { providertest.Record(t, nil) }, `record provider "": the provider is nil or zero: make one with New`},
		{func(t testing.TB) { providertest.Record(t, some).Events("requst_start") }, `provider "rectestsome" has no probe "requst_start", but request_start`},
		{func(t testing.TB) { providertest.Record(t, some).Own("query") }, `provider "rectestsome" has no probe "query", but request_done, request_start`},
		{func(t testing.TB) { providertest.Record(t, some).Events("request_done") }, ""},
	} {
		got := attempt(test.try)
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if some.Enabled() || wrong.Enabled() {
		t.Error("a provider is enabled that is recorded no more")
	}
}
