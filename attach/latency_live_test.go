package attach_test

import (
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestLatencyLive checks that nothing is taken for lost while pairs are being matched: a
// start that waits when the counters are read may have ended when waiting starts are
// counted.
func TestLatencyLive(t *testing.T) { everyWay(t, checkLatencyLive) }

func checkLatencyLive(t *testing.T) {
	p := startChild(t, "hammer")
	p.Do("load")
	a, err := latencyBy(t, t.Context(), "hammer:start", "hammer:end", &attach.LatencyOptions{Key: []string{"id"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	pairs := uint64(40_000)
	if testing.Short() {
		pairs /= 10
	}
	p.Send("fire 4 0 %d", pairs/4)
	fired := make(chan error, 1)
	go func() {
		_, err := p.Next()
		fired <- err
	}()
	for looks := 0; ; looks++ {
		st, err := a.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if lost := st.Lost - st.Full - st.Contended; lost > 0 { // shared memory may be full
			t.Fatalf("at look %d %d events are lost: %+v", looks, lost, st)
		}
		select {
		case err := <-fired:
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Read(); err != nil {
				t.Error(err)
			}
			if st := checkSum(t, a); st.Received != 2*pairs && st.Full+st.Contended == 0 {
				t.Errorf("%+v, want %d pairs received", st, pairs)
			}
			return
		default:
		}
	}
}
