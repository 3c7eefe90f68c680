package page_test

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestLost stops sdttrace while a shop serves, so that events are lost: the charts are hatched
// where they would be, and say how many there were.
func TestLost(t *testing.T) {
	needs.Root(t)
	page := file(t)
	p := tracee.Start(t, tracee.Self("shop", "page_lost")).Ready()
	cmd := exec.Command(build(t), "page", "-o", page, "-p", strconv.Itoa(p.PID()), "--buffer", "16K", "--span", "page_lost:request_start,page_lost:request_done:id", "page_lost:*")
	var stderr tracee.Output
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Await(t, "Ctrl-C ends")
	const between = 100 * time.Millisecond // looks at what is lost
	p.Do("50")
	time.Sleep(between)
	cmd.Process.Signal(syscall.SIGSTOP)
	p.Do("3000")
	cmd.Process.Signal(syscall.SIGCONT)
	time.Sleep(between)
	p.Do("50")
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	b := open(t, page)
	lost := int(b.data("#total-lost", "value"))
	if lost == 0 {
		t.Fatalf("no event was lost:\n%s", &stderr)
	}
	check(t, "what is hatched", b.text("#rate-sub"), get[string](b, "`of all ${plural(trace.Total, 'event')}; hatched where ${plural(trace.Lost, 'more was', 'more were')} lost`"))
	for _, chart := range []string{"rate", "heat"} {
		draw := map[string]string{"rate": "drawRate()", "heat": "drawHeat()"}[chart]
		check(t, "events in bands of "+chart, get[int](b, "lossBands("+chart+"Box(), timeFrom(), timeTo()).reduce((n, band) => n + band.n, 0)"), lost)
		// The chart is another picture without losses.
		check(t, "hatching in "+chart, get[bool](b, "(() => { const picture = () => { "+draw+"; return $('"+chart+"-canvas').toDataURL(); }; const hatched = picture(), all = trace.Losses; trace.Losses = []; const calm = picture(); trace.Losses = all; return hatched !== calm; })()"), true)
	}
	middle := "Math.floor((lossBands(rateBox(), timeFrom(), timeTo())[0].left + 1 - rateBox().x) / rateBox().width * trace.Time.Bins)"
	check(t, "reading", get[bool](b, "/ lost from /.test(readRate("+middle+" + 1))"), true)
}
