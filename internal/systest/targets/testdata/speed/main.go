// Command speed fires probes in a loop, at sites that Linux 6.18 optimises: it reads
// "PROBE TIMES BURST" lines, and answers with the CPU time that firing the probe took for
// each time, in nanoseconds. After each burst it sleeps for 5 ms, which is not counted; if
// BURST is 0 it never does. A fourth word is the number to fire. "armed PROBE" is answered
// by 1 if the probe is watched.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/provider"
)

var texts = [8]string{
	"GET /", "GET /index.html", "GET /item/1", "GET /item/clock", "POST /order/new", "GET /style.css", "GET /api/v1/carts", "POST /api/v1/carts",
}

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		log.Fatal(err)
	}
	return t.Nano()
}

func main() {
	runtime.LockOSThread()
	p := provider.New("speed", nil)
	number := provider.NewProbe1[int32](p, "number", "number")
	text := provider.NewProbe2[int32, string](p, "text", "number", "text")
	if err := p.Load(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if probe, ok := strings.CutPrefix(lines.Text(), "armed "); ok {
			armed := 0
			if probe == "number" && number.Enabled() || probe == "text" && text.Enabled() {
				armed = 1
			}
			fmt.Println(armed)
			continue
		}
		var probe string
		var n, burst, other int
		if got, err := fmt.Sscan(lines.Text(), &probe, &n, &burst, &other); got < 3 {
			log.Fatal(err)
		}
		if burst == 0 {
			burst = n
		}
		var took int64
		for i := 0; i < n; {
			end := min(i+burst, n)
			start := now()
			if probe == "number" {
				for ; i < end; i++ {
					number.Fire(int32(i&1023 | other))
				}
			} else {
				for ; i < end; i++ {
					text.Fire(int32(i&1023|other), texts[i&7])
				}
			}
			if took += now() - start; i < n {
				time.Sleep(5 * time.Millisecond)
			}
		}
		fmt.Println(float64(took) / float64(n))
	}
}
