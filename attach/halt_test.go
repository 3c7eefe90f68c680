package attach_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// manyProbes is how many the child "many" has.
const manyProbes = 16

func init() { roles["many"] = tracee.Obey(manyChild()) }

// manyChild fires each of its probes.
func manyChild() func(string) error {
	p := provider.New("many", nil)
	var probes []*provider.Probe1[uint32]
	for i := range manyProbes {
		probes = append(probes, provider.NewProbe1[uint32](p, fmt.Sprintf("probe%d", i), "n"))
	}
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		for i, probe := range probes {
			probe.Fire(uint32(i))
		}
		return nil
	}
}

// TestHalt checks that the caller does not wait while the kernel closes perf
// events, and that nothing is counted meanwhile.
func TestHalt(t *testing.T) {
	p := startChild(t, "many")
	p.Do("load")
	// The kernel closes perf events while others have the CPU.
	var took, total time.Duration
	for range 5 {
		if took, total = haltMany(t, p); took <= total/2 {
			return
		}
	}
	t.Errorf("Stop took %v of the %v that closing %d perf events took", took, total, manyProbes)
}

// haltMany returns how long Stop takes, and closing.
func haltMany(t *testing.T, p *tracee.Program) (took, total time.Duration) {
	t.Helper()
	s := open(t, "many:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: attach.PerfLink})
	p.Do("fire")
	began := time.Now()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	took = time.Since(began)
	pending := s.Pending()
	p.Do("fire")
	left := s.Pending()
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	total = time.Since(began)
	t.Logf("Stop took %v and left %d of %d events, %d until they had fired again; all took %v", took, pending, manyProbes, left, total)
	if n := len(drain(t, s)); n != manyProbes {
		t.Errorf("%d events, want %d", n, manyProbes)
	}
	if st := checkSum(t, s); st.Fired != manyProbes {
		t.Errorf("stats %+v, want %d fired", st, manyProbes)
	}
	return took, total
}
