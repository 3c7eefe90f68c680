package sdtdump

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

const (
	progressAfter = 500 * time.Millisecond // work that is done sooner shows none
	progressEvery = 100 * time.Millisecond
)

// progress shows on a terminal how far long work is. Everything else that is
// written to the terminal meanwhile goes through behind, which takes the line
// away first. A nil progress shows nothing.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	files int
	what  string // the file or process that is being read
	shown bool
	done  chan struct{}
	ended sync.WaitGroup
}

// newProgress shows a line on w once after has passed.
func newProgress(w io.Writer, after time.Duration) *progress {
	p := &progress{w: w, done: make(chan struct{})}
	p.ended.Go(func() {
		for wait := after; ; wait = progressEvery {
			select {
			case <-p.done:
				return
			case <-time.After(wait):
				p.show()
			}
		}
	})
	return p
}

// maxWhat characters of a path are shown, so that the line is not broken.
const maxWhat = 60

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == 0 {
		return
	}
	what := []rune(p.what)
	if len(what) > maxWhat {
		what = append([]rune("…"), what[len(what)-maxWhat+1:]...)
	}
	for i, r := range what {
		if !strconv.IsPrint(r) {
			what[i] = '?'
		}
	}
	fmt.Fprintf(p.w, "%s%d read, %s", eraseLine, p.files, string(what))
	p.shown = true
}

// reads says that the next file or process is read.
func (p *progress) reads(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files++
	p.what = what
}

// stop takes the line away for good.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	p.ended.Wait()
	p.erase()
}

func (p *progress) erase() {
	if p.shown {
		io.WriteString(p.w, eraseLine)
		p.shown = false
	}
}

// behind returns a writer to w, for what may share the terminal.
func (p *progress) behind(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return &behind{p, w}
}

type behind struct {
	p *progress
	w io.Writer
}

func (b *behind) Write(data []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.erase()
	return b.w.Write(data)
}
