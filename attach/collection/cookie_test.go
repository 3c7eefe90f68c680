package collection_test

import (
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestCookieOf gives each site a cookie of its own, also sites that appear later, of arguments
// that are equal.
func TestCookieOf(t *testing.T) {
	p, q := start(t, tracee.Self("typed")), start(t, tracee.Self("typed"))
	p.Do("load")
	pids := []int{p.PID(), q.PID()}
	spec := bpf.ReadSpec(t, newestObject)
	for name, prog := range spec.Programs {
		prog.AttachTo = map[string]string{"any": "typed:*"}[name]
	}
	cookies := func(s attach.Site) uint64 {
		cookie := uint64(s.PID) << 8
		if s.Probe.Name == "ints" {
			cookie++
		}
		return cookie
	}
	c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: pids}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Cookie: 7, CookieOf: cookies})
	if err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitSites(t, c, "any", 2)
	q.Do("load")
	awaitSites(t, c, "any", 4)
	var want []int64
	for _, p := range []*tracee.Program{p, q} {
		p.Do("bare")
		p.Do("ints")
		want = append(want, int64(p.PID())<<8, int64(p.PID())<<8+1)
	}
	var got []int64
	for _, ev := range firings(t, c) {
		got = append(got, ev.Cookie)
	}
	if !slices.Equal(got, want) {
		t.Errorf("cookies %#x, want %#x", got, want)
	}
}
