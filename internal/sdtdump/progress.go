package sdtdump

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-usdt/usdt/internal/printable"
)

const (
	progressAfter = 500 * time.Millisecond // shorter work shows no progress
	progressEvery = 100 * time.Millisecond
)

// progress shows the progress of long work on a terminal. All other output to the
// terminal goes through behind, which removes the line first. A nil progress shows
// nothing.
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

// maxWhat is the largest number of characters shown of a path, so that the line does
// not wrap.
const maxWhat = 60

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == 0 {
		return
	}
	what := []rune(printable.String(p.what))
	if len(what) > maxWhat {
		what = append([]rune("…"), what[len(what)-maxWhat+1:]...)
	}
	fmt.Fprintf(p.w, "%s%d read, %s", eraseLine, p.files, string(what))
	p.shown = true
}

// reads records that the next file or process is being read.
func (p *progress) reads(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files++
	p.what = what
}

// stop removes the line for good.
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

// behind returns a writer to w, for output that may share the terminal.
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
