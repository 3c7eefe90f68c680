package page_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"shop": shop, "kinds": kinds})
	os.Exit(leftover.Run(tests{m}))
}

// tests are the tests of the package, behind which the browser ends.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	defer func() { closeBrowser() }()
	return t.m.Run()
}

// paths are texts of requests: those of people, and those of people who mean harm.
var paths = []string{
	"/item/clock", "/item/lamp", "/api/order",
	"</script><script>harmed=1</script>", "<img src=x onerror=harmed=1>", "&lt;\"'`${harmed=1}", "\xff\xfe\x00\x1b[31m\u202egnp",
}

// A request has an id; what else it has follows from that.
func pathOf(id int) string { return paths[id%len(paths)] }

func statusOf(id int) int64 {
	if id%10 == 3 {
		return 500 + int64(id%3)
	}
	return 200
}

func tookOf(id int) time.Duration { return time.Duration(id%1000+1) * 100 * time.Microsecond }

// probes are those of a shop.
type probes struct {
	start *provider.Probe2[uint64, string]
	done  *provider.Probe4[uint64, int64, time.Duration, string]
}

// shop answers a line with a number by so many requests.
func shop(args []string) error {
	p := provider.New(args[0], nil)
	shop := probes{
		provider.NewProbe2[uint64, string](p, "request_start", "id", "path"),
		provider.NewProbe4[uint64, int64, time.Duration, string](p, "request_done", "id", "status", "took", "path"),
	}
	if err := p.Load(); err != nil {
		return err
	}
	defer p.Close()
	fmt.Println("ready")
	for {
		var line string
		if _, err := fmt.Scanln(&line); err != nil {
			return nil // the end of the input
		}
		n, err := strconv.Atoi(line)
		if err != nil {
			return err
		}
		for id := range n {
			shop.serve(id)
		}
		fmt.Println("served")
	}
}

//go:noinline
func (p *probes) serve(id int) {
	p.start.Fire(uint64(id), pathOf(id))
	if statusOf(id) >= 500 {
		p.fail(id)
	} else {
		p.answer(id)
	}
}

//go:noinline
func (p *probes) answer(id int) { p.done.Fire(uint64(id), statusOf(id), tookOf(id), pathOf(id)) }

//go:noinline
func (p *probes) fail(id int) { p.done.Fire(uint64(id), statusOf(id), tookOf(id), pathOf(id)) }

// build builds sdttrace.
func build(t testing.TB) string {
	t.Helper()
	return needs.Build(t, "cmd/sdttrace")
}
