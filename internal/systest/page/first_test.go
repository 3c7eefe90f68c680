package page_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestFirstLook names a provider alone, and reads what the page shows first.
func TestFirstLook(t *testing.T) {
	needs.Root(t)
	b := open(t, trace(t, tracee.Self("shop", "page_first"), requests, "page_first"))
	check(t, "pairs", b.data("#latency-figures dd", "value"), requests)
	paths := map[string]int{}
	for id := range requests {
		paths[pathOf(id)]++
	}
	for path, n := range paths {
		if !strings.HasPrefix(path, "/api/") {
			continue // not text
		}
		check(t, "requests of "+path, get[int](b, fmt.Sprintf("Number([...document.querySelectorAll('#groups-table tbody tr')].find(r => r.dataset.text === %q)?.dataset.count)", path)), n)
	}
	check(t, "groups in the order of their totals", get[bool](b, "(all => all.every((r, i) => !i || +all[i - 1].dataset.sum >= +r.dataset.sum))([...document.querySelectorAll('#groups-table tbody tr')])"), true)
	check(t, "the parts that are shown, in order", get[string](b, "[...document.querySelectorAll('section:not([hidden])')].map(s => s.id).join(' ')"), "latency rate numbers events")
	check(t, "an identifier has no histogram", get[int](b, "document.querySelectorAll('.card[data-arg=id]').length"), 0)
	check(t, "the end repeats nothing of its start", get[bool](b, "span.Slowest.every(s => s.Start.includes('path=') && !s.End.includes('path=') && s.End.includes('took='))"), true)

	for value, want := range map[string]string{"1.2e6": "1.20 ms", "35412345": "35.4 ms", "999600": "1.00 ms", "17": "17 ns", "2e9": "2.00 s", "0": "0 ns", "1e12": "1000 s"} {
		check(t, value+" ns", strings.ReplaceAll(get[string](b, "figure("+value+", 'ns')"), "\u00a0", " "), want)
	}
	noOverlap(b)

	// Probes that share a color stand behind one mark.
	get[int](b, `(() => {
		for (let i = 0; i < 10; i++) trace.Probes.push({ Name: "p:x" + i, Count: 3, Rate: [3], Args: [] });
		trace.order = trace.Probes.map((_, i) => i);
		rank = trace.order;
		updateRate();
		return 0;
	})()`)
	check(t, "what stands for the others", strings.ReplaceAll(b.text("#legend summary"), "\n", " "), "5 others 15")
	check(t, "colors of the first ones", get[int](b, "new Set([...document.querySelectorAll('#legend > button i')].map(i => i.style.background)).size"), 7)
	check(t, "buttons of the others", get[int](b, "document.querySelectorAll('#legend details button').length"), 5)
}

// TestNothing opens a page without events: it says why, and what is known of its probes, and draws no empty
// chart.
func TestNothing(t *testing.T) {
	needs.Root(t)
	page, known := file(t), filepath.Join(t.TempDir(), "known.probes")
	if err := os.WriteFile(known, []byte("note * page_nothing:* it fires before it commits\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := tracee.Start(t, tracee.Self("shop", "page_nothing")).Ready()
	cmd := exec.Command(build(t), "page", "-o", page, "--providers", known, "-p", strconv.Itoa(p.PID()), "--where", "pid == 1", "page_nothing:*")
	var said tracee.Output
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said.Await(t, "Ctrl-C ends")
	p.Do("10")
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	b := open(t, "file://"+page)
	check(t, "why", b.text("#why"), "pid == 1 held for none of 20 events")
	check(t, "what is known of the probes", strings.HasSuffix(b.text("#notes"), ": it fires before it commits"), true)
	check(t, "the parts that are shown", get[string](b, "[...document.querySelectorAll('section:not([hidden])')].map(s => s.id).join(' ')"), "events")
}

// noOverlap draws all charts anew, in a wide and in a narrow window, and checks that no text is
// over another.
func noOverlap(b *tab) {
	b.t.Helper()
	get[int](b, `(() => {
		window.texts = new Map();
		const old = CanvasRenderingContext2D.prototype.fillText;
		CanvasRenderingContext2D.prototype.fillText = function(text, x, y) {
			const m = this.measureText(text), all = texts.get(this.canvas) || [];
			all.push({ text, left: x - m.actualBoundingBoxLeft, right: x + m.actualBoundingBoxRight, top: y - m.actualBoundingBoxAscent, bottom: y + m.actualBoundingBoxDescent });
			texts.set(this.canvas, all);
			old.apply(this, arguments);
		};
		return 0;
	})()`)
	for _, width := range []int64{1400, 420} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.await("document.documentElement.clientWidth <= innerWidth")
		got := get[string](b, `(() => {
			texts.clear();
			for (const draw of charts) draw();
			const over = [];
			for (const [canvas, all] of texts) if (canvas.id !== "flame-canvas") all.forEach((a, i) => all.slice(i + 1).forEach(c => {
				if (a.left < c.right && c.left < a.right && a.top < c.bottom && c.top < a.bottom) over.push(canvas.id + ": " + a.text + " and " + c.text);
			}));
			return texts.size + " " + over.join("; ");
		})()`)
		if n, over, _ := strings.Cut(got, " "); n == "0" || over != "" {
			b.t.Errorf("%d wide, in %s charts text is over text: %s", width, n, over)
		}
	}
}
