package page_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// requests is how many requests a shop serves in most tests.
const requests = 3000

// truth is what a page of a shop has to show.
type truth struct{ failed, ordered int }

func truthOf(n int) (all truth) {
	for id := range n {
		if statusOf(id) >= 500 {
			all.failed++
		}
		if pathOf(id) == "/api/order" {
			all.ordered++
		}
	}
	return all
}

// trace runs sdttrace while a shop serves, and returns the page.
func trace(t *testing.T, shop *exec.Cmd, n int, flags ...string) string {
	t.Helper()
	page := file(t)
	p := tracee.Start(t, shop).Ready()
	cmd := exec.Command(build(t), append([]string{"page", "-o", page, "-p", strconv.Itoa(p.PID())}, flags...)...)
	var stderr tracee.Output
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Await(t, "Ctrl-C ends")
	p.Do(strconv.Itoa(n))
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if want := fmt.Sprintf("%d events, 0 lost, 0 filtered", 2*n); !strings.Contains(stderr.String(), want) {
		t.Fatalf("want %q in\n%s", want, &stderr)
	}
	return page
}

// record has a shop keep what it serves, and returns the page of that.
func record(t *testing.T, name string, n int, size string) (page, dir string) {
	t.Helper()
	dir = t.TempDir()
	shop := tracee.Self("shop", name)
	shop.Env = append(shop.Environ(), "USDT_RECORDER="+dir+","+size)
	p := tracee.Start(t, shop).Ready()
	p.Do(strconv.Itoa(n))
	page = file(t)
	out := needs.Run(t, build(t), "page", "-o", page, "--span", name+":request_start,"+name+":request_done:id", "--from", dir, name+":*")
	if want := "0 lost"; !strings.Contains(out, want) {
		t.Fatalf("want %q in\n%s", want, out)
	}
	return page, dir
}

// TestPage reads and uses pages of events that came by each way.
func TestPage(t *testing.T) {
	t.Run("kernel", func(t *testing.T) {
		needs.Root(t)
		b := open(t, trace(t, tracee.Self("shop", "page_kernel"), requests, "--stack", "--buffer", "64M", "page_kernel:*"))
		checkCounts(b, "page_kernel")
		checkNumbers(b, "page_kernel")
		checkFilter(b)
		checkTable(b, "page_kernel")
		checkScroll(b)
		checkFlame(b)
		checkTime(b)
	})
	t.Run("shared memory", func(t *testing.T) {
		shop := tracee.Self("shop", "page_local")
		shop.Env = append(shop.Environ(), "USDT_LOCAL=1")
		b := open(t, trace(t, shop, requests, "--stack", "--user", "--buffer", "64M", "page_local:*"))
		checkCounts(b, "page_local")
		checkNumbers(b, "page_local")
		checkFilter(b)
		checkFlame(b)
	})
	t.Run("recording", func(t *testing.T) {
		page, dir := record(t, "page_recorded", requests, "16M")
		b := open(t, page)
		checkLatency(b, dir)
		b.press("1", "Escape") // all of the time again
		b.awaitShown(2 * requests)
		checkCounts(b, "page_recorded")
		checkNumbers(b, "page_recorded")
		checkFilter(b)
		awaitCheck(b, "no stacks: hidden", "document.querySelector('#flame').hidden", true)
	})
}

// TestPageSame checks that a number which is always the same is named, and takes no chart.
func TestPageSame(t *testing.T) {
	needs.Root(t)
	b := open(t, trace(t, tracee.Self("shop", "page_same"), 1, "page_same:*"))
	awaitCheck(b, "charts", "document.querySelectorAll('.card').length", 0)
	text, want := b.text("#numbers-same"), fmt.Sprintf("page_same:request_done status = %d", statusOf(0))
	if !strings.Contains(text, want) || strings.Contains(text, "id = ") {
		t.Errorf("always the same are %q, want %q, and no identifiers", text, want)
	}
}

func checkCounts(b *tab, provider string) {
	b.t.Helper()
	check(b.t, "events", b.data("#total-events", "value"), 2*requests)
	check(b.t, "events, as text", b.text("#total-events"), "6000")
	check(b.t, "lost", b.data("#total-lost", "value"), 0)
	check(b.t, "processes", b.data("#total-processes", "value"), 1)
	for _, probe := range []string{"request_start", "request_done"} {
		check(b.t, probe, b.data(fmt.Sprintf("#legend [data-probe='%s:%s']", provider, probe), "count"), requests)
	}
	check(b.t, "in the chart of rates", get[int](b, "trace.Probes.reduce((sum, p) => sum + p.Rate.reduce((a, b) => a + b, 0), 0)"), 2*requests)
	// Strings that were fired to do harm are text.
	check(b.t, "harm", get[string](b, "typeof harmed"), "undefined")
	check(b.t, "images", get[int](b, "document.images.length"), 0)
}

func checkNumbers(b *tab, provider string) {
	b.t.Helper()
	var sum, longest float64
	for id := range requests {
		sum += float64(tookOf(id))
		longest = max(longest, float64(tookOf(id)))
	}
	took := fmt.Sprintf(".card[data-probe='%s:request_done'][data-arg=took]", provider)
	check(b.t, "values of took", b.data(took, "count"), requests)
	check(b.t, "the least took", b.data(took, "min"), float64(tookOf(0)))
	check(b.t, "the longest took", b.data(took, "max"), longest)
	check(b.t, "the sum of took", b.data(took, "sum"), sum)
	// The median of values that are all in one bucket is the middle of their range.
	check(b.t, "the median of 1217 to 1240", get[float64](b, "quantile({ Count: 24, Min: 1217, Max: 1240, Buckets: [[8 * (1074 + 11) + 1, 24]] }, 0.5)"), 1228.5)
	check(b.t, "the median of 1.7e308 and 1.75e308", get[float64](b, "quantile({ Count: 2, Min: 1.7e308, Max: 1.75e308, Buckets: [[8 * (1074 + 1024) + 7, 2]] }, 0.5)"), 1.725e308)
	// A few distinct numbers are drawn, and make figures, as they are.
	statuses := map[int64]int{}
	for id := range requests {
		statuses[statusOf(id)]++
	}
	const status = "[...cards.values()].find(c => c.arg.Name === 'status').arg.Values"
	if got := get[map[int64]int](b, "Object.fromEntries(barsOf("+status+", 40).bars.map(([v, , n]) => [v, n]))"); !maps.Equal(got, statuses) {
		b.t.Errorf("bars of status are %v, want %v", got, statuses)
	}
	check(b.t, "the median of status", get[float64](b, "quantile("+status+", 0.5)"), 200)
	check(b.t, "bars of 1, 2 and 5", get[string](b, "JSON.stringify(barsOf({ Count: 9, Min: 1, Max: 5, Buckets: [], Exact: [[1, 4], [2, 3], [5, 2]] }, 40).bars.map(b => b[2]))"), "[4,3,0,0,2]")
	check(b.t, "the p99 of 200 and 404", get[float64](b, "quantile({ Count: 100, Min: 200, Max: 404, Buckets: [], Exact: [[200, 98], [404, 2]] }, 0.99)"), 404)
	if text := b.text(took); !strings.Contains(text, "mean\u00a050.1\u00a0ms") {
		b.t.Errorf("the card of took says %q, want a mean of 50.1 ms", text)
	}
}

// checkFilter types filters, and reads how many events pass.
func checkFilter(b *tab) {
	b.t.Helper()
	want := truthOf(requests)
	for filter, want := range map[string]int{
		"status >= 500":             want.failed,
		"!(status >= 500)":          requests - want.failed, // starts have no status
		`path == "/api/order"`:      2 * want.ordered,
		`"ORDER" && status == 200`:  ordered(200),
		"took>99.85ms":              2 * requests / 1000,
		"id==17":                    2,
		`probe ~ "*_done" && id<17`: 17,
		`"<script>harmed" && probe ~ "*start" && id<7`: 1,
		`path ~ "\xff\xfe*" && id<14`:                  4,
		"status==200 && took<=1ms":                     requests/1000*10 - requests/1000, // of ten, one failed
		`"nothing has this"`:                           0,
	} {
		b.write("/", filter)
		awaitCheck(b, "the filter", "document.querySelector('#filter').value", filter)
		b.awaitShown(want)
		b.press("Escape")
		b.awaitShown(2 * requests)
	}
	b.write("/", "stats >= 500")
	b.await("!document.querySelector('#filter-error').hidden && document.querySelector('#filter-error').textContent === 'column 1: no event has an argument “stats”; to look for a text, write it in double quotes'") // not of what is typed first
	b.press("Escape")
	b.await("document.querySelector('#filter-error').hidden")
}

// ordered returns how many orders had a status.
func ordered(status int64) (n int) {
	for id := range requests {
		if pathOf(id) == "/api/order" && statusOf(id) == status {
			n++
		}
	}
	return n
}

// checkTable shows one probe only, sorts by an argument, and opens an event.
func checkTable(b *tab, provider string) {
	b.t.Helper()
	b.click(fmt.Sprintf("#legend [data-probe='%s:request_start']", provider))
	b.awaitShown(requests)
	b.click("#grid-head [data-column=took]")
	b.await("document.querySelector('#grid-head [aria-sort=descending]') !== null")
	const line = "#grid-rows .row.picked"
	b.click("#grid")
	b.press("Home")
	if got := b.text(line); !strings.Contains(got, "100\u00a0ms") {
		b.t.Errorf("the event with the longest took is %q, want 100 ms", got)
	}
	b.press("End")
	if got := b.text(line); !strings.Contains(got, "100\u00a0µs") {
		b.t.Errorf("the event with the shortest took is %q, want 100 µs", got)
	}
	b.press("Enter")
	last := 1000 * (requests/1000 - 1) // of equal ones, the last
	if got := b.text("#detail"); !strings.Contains(got, fmt.Sprintf("id\n%d\n", last)) || !strings.Contains(got, "(*probes).") {
		b.t.Errorf("the details are\n%s\nwant id %d and the stack", got, last)
	}
	b.press("Escape")
	awaitCheck(b, "details are hidden", "document.querySelector('#detail').hidden", true)
	b.click(fmt.Sprintf("#legend [data-probe='%s:request_start']", provider))
	b.awaitShown(2 * requests)
}

// checkScroll scrolls the table twice before an event says so, then as a user would, and turns
// the wheel with what is not for the table's lines.
func checkScroll(b *tab) {
	b.t.Helper()
	get[string](b, "scrollToLine(100), scrollToLine(1000), 'scrolled'")
	// A frame's events come before it is drawn.
	const frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
	b.await(frames)
	check(b.t, "the first line", get[float64](b, "grid.top"), 1000)
	get[int](b, "document.querySelector('#grid').scrollTop = 0")
	awaitCheck(b, "the first line", "grid.top", 0)
	for _, wheel := range []struct {
		init string
		want bool // whether lines move
	}{
		{"deltaY: 260", true},
		{"deltaY: 260, ctrlKey: true", false},
		{"deltaY: 260, shiftKey: true", false},
		{"deltaY: 260, deltaX: -300", false},
		{"deltaY: 260, deltaX: 200", true},
	} {
		get[string](b, "scrollToLine(1000), 'scrolled'")
		taken := get[bool](b, "!document.querySelector('#grid').dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, "+wheel.init+" }))")
		check(b.t, "a wheel is taken: "+wheel.init, taken, wheel.want)
		want := 1000.0
		if wheel.want {
			want += 10
		}
		check(b.t, "the first line behind a wheel: "+wheel.init, get[float64](b, "grid.top"), want)
	}
	get[string](b, "scrollToLine(0), 'scrolled'")
}

// checkFlame walks through the flame graph, and finds functions.
func checkFlame(b *tab) {
	b.t.Helper()
	failed := truthOf(requests).failed
	b.write("f", "probes).fail")
	b.await(fmt.Sprintf("document.querySelector('#flame-sub').dataset.events === '%d'", failed))
	if got, want := b.text("#flame-sub"), fmt.Sprintf("1 function found, in %d events (5 %%)", failed); strings.ReplaceAll(got, "\u00a0", " ") != want {
		b.t.Errorf("the page says %q, want %q", got, want)
	}
	b.press("Escape", "3")
	check(b.t, "all stacks", strings.ReplaceAll(b.text("#flame-reading"), "\u00a0", " "), "All stacks: 6000 events, 100 %")
	for range 20 {
		b.press("Down") // into what has most events
		if strings.Contains(b.text("#flame-reading"), ").answer") {
			break
		}
	}
	got := strings.ReplaceAll(b.text("#flame-reading"), "\u00a0", " ")
	if want := fmt.Sprintf("(*probes).answer: %d events, 45 %%; %d here itself", requests-failed, requests-failed); !strings.HasSuffix(got, want) {
		b.t.Errorf("the page reads %q, want %q", got, want)
	}
	b.press("Enter")
	awaitCheck(b, "zoomed in", "nodeName(flame.root).endsWith('.answer') && flame.boxes.filter(b => !b.above).length === 1", true)
	b.press("Escape")
	awaitCheck(b, "zoomed out", "flame.root", 0)
	b.await("flame.boxes.every(b => !b.above)") // drawn again
	// The pointer shows the outermost call, below "all".
	x := get[float64](b, "(() => { const c = document.querySelector('#flame-canvas'); c.scrollIntoView({ block: 'center', behavior: 'instant' }); return c.getBoundingClientRect().left + 20 })()")
	y := get[float64](b, "document.querySelector('#flame-canvas').getBoundingClientRect().top + 30")
	b.do(mouseClick(x, y))
	awaitCheck(b, "clicked", "trace.Parents[flame.root] === 0", true)
	b.click("#flame-reset")
	awaitCheck(b, "zoomed out", "flame.root", 0)
}

// checkTime selects a part of the time by keys, and compares the table with the chart.
func checkTime(b *tab) {
	b.t.Helper()
	b.press("2", "Home")
	for range 3 {
		b.do(shiftRight)
	}
	want := get[int](b, "trace.Probes.reduce((sum, p) => sum + p.Rate.slice(0, 4).reduce((a, b) => a + b, 0), 0)")
	if want == 0 || want == 2*requests {
		b.t.Fatalf("%d events are in the first four intervals", want)
	}
	b.awaitShown(want)
	b.click("#time-reset")
	b.awaitShown(2 * requests)
}

// checkLatency compares pairs with the events of the same recording, one by one.
func checkLatency(b *tab, dir string) {
	b.t.Helper()
	out := needs.Run(b.t, build(b.t), "-q", "--json", "--from", dir)
	type line struct {
		Time time.Time
		Name string
		Args struct{ ID int }
	}
	began := map[int]time.Time{}
	var times []time.Time
	var slowest time.Time // when it began
	var longest, sum time.Duration
	for text := range strings.Lines(out) {
		var l line
		if json.Unmarshal([]byte(text), &l) != nil {
			continue // the summary
		}
		times = append(times, l.Time)
		if l.Name == "request_start" {
			began[l.Args.ID] = l.Time
			continue
		}
		took := l.Time.Sub(began[l.Args.ID])
		if sum += took; took > longest {
			longest, slowest = took, began[l.Args.ID]
		}
	}
	check(b.t, "pairs", b.data("#latency-figures dd", "value"), requests)
	check(b.t, "the mean", get[float64](b, "span.Took.Sum"), float64(sum))
	check(b.t, "the longest", b.data("#slowest tbody tr", "took"), float64(longest))
	check(b.t, "pairs in the heat map", get[int](b, "span.Heat.reduce((n, h) => n + h.Counts.reduce((a, b) => a + b, 0), 0)"), requests)
	awaitCheck(b, "slowest", "document.querySelectorAll('#slowest tbody tr').length", 10)
	b.click("#slowest tbody tr button")
	// Where the processor was taken away during the slowest pair, these are all events.
	around, room := 0, max(longest, time.Microsecond)
	for _, t := range times {
		if since := t.Sub(slowest); since >= -room && since <= longest+room {
			around++
		}
	}
	b.await("state.from !== null && document.querySelector('.row.picked') !== null")
	b.awaitShown(around)
	check(b.t, "the start of the slowest pair is picked", get[float64](b, "trace.event(rows[grid.picked]).time"), get[float64](b, "Number(BigInt(span.Slowest[0].Began) - trace.first)"))
}
