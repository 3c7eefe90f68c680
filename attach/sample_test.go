package attach_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestSample delivers one in ten of the events that pass a condition, whoever tests it.
func TestSample(t *testing.T) { sharedToo(t, checkSample) }

func checkSample(t *testing.T) {
	p := provider.New("sample", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe2[int, string](p, "done", "n", "path")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	const events = 4000
	for _, where := range []string{"", "n < 2000", `n < 2000 && path == "/"`} {
		s := openEvents(t, "sample:done", &attach.EventOptions{Sample: 10}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: where})
		for i := range events {
			probe.Fire(i, "/")
		}
		all := drain(t, s)
		want := events
		if where != "" {
			want = events / 2
		}
		// In shared memory each processor's shard counts by itself.
		if n := 10 * len(all); n < want/2 || n > 2*want || wayOf(t) == shared && max(n-want, want-n) >= 10*runtime.NumCPU() {
			t.Errorf("where %q: %d events, want about %d", where, len(all), want/10)
		}
		if st := checkSum(t, s); st.Fired != events || st.Filtered != events-uint64(len(all)) {
			t.Errorf("where %q: stats %+v of %d events", where, st, len(all))
		}
		s.Close()
	}
	var option *attach.OptionError
	for _, n := range []int{-1, 1 << 31} {
		if err := (&attach.EventOptions{Sample: n}).Validate(nil); !errors.As(err, &option) || option.Option != "Sample" {
			t.Errorf("%d: %v", n, err)
		}
	}
}
