package attach_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// restOfService is how long a new service waits with its first event.
const restOfService = 200 * time.Millisecond

const eventsOfService = 10

var newServiceRounds = flag.Int("services", 2, "how many `times` TestNewServices starts twelve services")

func init() {
	roles["newservice"] = func([]string) error {
		p := provider.New("newservice", nil)
		hit := provider.NewProbe1[int](p, "hit", "n")
		if err := p.Load(); err != nil {
			return err
		}
		time.Sleep(restOfService)
		for i := range eventsOfService {
			hit.Fire(i)
		}
		fmt.Println("fired")
		bufio.NewScanner(os.Stdin).Scan() // the end of the test
		return nil
	}
}

// TestNewServices starts twelve services every 100 ms, which load their probes and fire when
// 200 ms have passed. No event is lost, unless a site was found later than that: the statistics say so.
func TestNewServices(t *testing.T) {
	const services = 12
	rounds := *newServiceRounds
	tracee.Alone(t, "newservice")
	a := openAggregate(t, []string{"newservice:hit"}, attach.Count(), &attach.Options{Rescan: time.Hour, Await: true})
	var fired sync.WaitGroup
	began := time.Now()
	for range rounds {
		next := time.After(100 * time.Millisecond)
		for range services {
			p := startChild(t, "newservice")
			fired.Go(func() {
				if line, err := p.Next(); line != "fired" {
					t.Errorf("a service says %q, %v", line, err)
				}
			})
		}
		<-next
	}
	took := time.Since(began)
	fired.Wait()
	awaitSites(t, a.Plan, rounds*services)
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for _, g := range groups {
		n += g.Count
	}
	st, err := a.Stats()
	if want := uint64(rounds * services * eventsOfService); err != nil || n > want || n < want && st.Lateness < restOfService {
		t.Errorf("%d events, want %d; %v, %+v", n, want, err, st)
	}
	t.Logf("%d events of %d services that were started in %v, the latest site after %v", n, rounds*services, took, st.Lateness)
}
