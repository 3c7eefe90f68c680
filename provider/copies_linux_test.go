//go:build !usdt_nolocal

package provider_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestWatchedAllocations fires arguments of every kind for tracers of the kernel, for a
// local tracer and for the recorder, and checks that none of them costs an allocation:
// neither strings as long as tracers read, nor longer ones, nor records.
func TestWatchedAllocations(t *testing.T) {
	opts := map[string]*provider.Options{"kernel": nil, "local": {Local: true}, "recorder": {FlightRecorder: &provider.FlightRecorder{Dir: t.TempDir()}}}
	for way, o := range opts {
		p := provider.New("copies"+way, o)
		defer p.Close()
		text := provider.NewProbe2[int, string](p, "text", "n", "s")
		six := provider.NewProbe6[string, string, string, string, string, string](p, "six", "a", "b", "c", "d", "e", "f")
		converted := provider.NewProbe3[provider.Text, provider.IP, time.Time](p, "converted", "err", "ip", "at")
		record := provider.NewStructProbe[made](p, "record")
		texts := provider.NewStructProbe[struct {
			N     int
			Names []string
		}](p, "texts")
		ids := provider.NewProbe3[[16]byte, provider.Hex, net.IP](p, "ids", "trace", "hex", "ip")
		load(t, p)
		switch way {
		case "kernel":
			provider.Watch(p, 1)
		case "local":
			attachTo(t, os.Getpid(), p.Name(), watching{size: 1 << 20, limit: 8192})
		}
		short, page, huge := strings.Repeat("s", 300), strings.Repeat("p", 4096), strings.Repeat("h", 1<<20)
		trace := [16]byte{10: 0xff, 11: 0xff, 12: 10}
		err, ip, now := errors.New(short), netip.MustParseAddr("::1"), time.Now()
		m := made{1, huge, provider.Error(err)}
		names := struct {
			N     int
			Names []string
		}{1, []string{short, page}}
		for name, fire := range map[string]func(){
			"300 bytes":          func() { text.Fire(1, short) },
			"4 kB":               func() { text.Fire(1, page) },
			"1 MiB":              func() { text.Fire(1, huge) },
			"six strings":        func() { six.Fire(page, short, page, huge, huge, page) },
			"errors":             func() { converted.Fire(provider.Error(err), provider.Addr(ip), now) },
			"records with texts": func() { record.Fire(&m) },
			"identifiers":        func() { ids.Fire(trace, trace[:], trace[:]) },
			"records":            func() { texts.Fire(&names) },
		} {
			if n := testing.AllocsPerRun(100, fire); n != 0 && !raced { // which lets sync.Pool forget
				t.Errorf("%s, %s: %v allocations, want 0", way, name, n)
			}
		}
	}
}

// TestLongStrings checks that listeners get strings whole, however little of them Fire
// copies for tracers.
func TestLongStrings(t *testing.T) {
	p := newProvider("longstrings")
	text := provider.NewProbe3[string, provider.Text, string](p, "text", "a", "b", "c")
	rec := providertest.Record(t, p)
	long := strings.Repeat("0123456789", 100_000)
	text.Fire(long, provider.Error(errors.New(long[1:])), "short")
	args := rec.Events("text")[0].Args
	if args[0].Value != long || args[1].Value != long[1:] || args[2].Value != "short" {
		t.Errorf("strings of %d, %d bytes and %v", len(args[0].Value.(string)), len(args[1].Value.(string)), args[2].Value)
	}
	if notes.MaxString >= len(long) {
		t.Error("this string is not long")
	}
}

// TestTerminated checks that a string which is cut for tracers that look for a NUL says so.
func TestTerminated(t *testing.T) {
	for _, n := range []int{0, 191, 192, 193, notes.MaxString - 1, notes.MaxString, notes.MaxString + 1, 1 << 20} {
		want := strings.Repeat("x", n)
		if n > notes.MaxString {
			want = want[:notes.MaxString] + "..."
		}
		if got := provider.Terminated(strings.Repeat("x", n)); got != want {
			t.Errorf("a string of %d bytes is one of %d, which ends in %q", n, len(got), got[max(0, len(got)-5):])
		}
	}
}
