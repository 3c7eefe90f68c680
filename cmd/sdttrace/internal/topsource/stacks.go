package topsource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/top"
)

// Unwinds reports whether the code around a probe is likely to lack frame pointers: Go
// code has them, and what distributions compile from C and C++ most often has not. A
// process that shares memory follows frame pointers only.
func (s *Source) Unwinds(probe string) (unwind, choice bool) {
	site := s.site(probe)
	choice = s.Aggregate.Via() != attach.ViaLocal
	return choice && site != nil && site.Probe.Type == nil, choice
}

// Stacks adds up events of a probe by stack. The kernel could, but would look at the calls
// that led to each event, and copy 16 KiB of its stack for call frames; of events, one in
// sample is enough.
func (s *Source) Stacks(ctx context.Context, probe string, pid, sample int, unwind bool) (top.Tracing, error) {
	opts, err := s.options(pid)
	if err != nil {
		return nil, err
	}
	what := &attach.EventOptions{Sample: sample, MaxString: 1, RingSize: 4 << 20}
	opts.Stack, opts.Unwind = attach.MaxStack, unwind
	if site := s.site(probe); site != nil && site.Probe.Kind.InFile() && !site.Probe.Kind.IsReturn() {
		opts.Args = []string{"none"}
	}
	t := &stacks{counts: map[string]uint64{}}
	err = s.follow(ctx, &t.tracing, probe, what, opts, func(ev *event.Event) {
		if ev.Stack != nil {
			t.add(stackText(ev.Stack), 1)
		}
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// stacks counts the stacks of a probe since it was opened.
type stacks struct {
	tracing

	counts map[string]uint64
	total  uint64
	other  uint64 // in stacks that came when maxTopStacks were known
}

// maxStacks is how many stacks are told apart: nobody reads more.
const maxStacks = 4096

// stackText returns a stack as text, a line for each function: the same in all processes
// that run the same files, wherever they have mapped them.
func stackText(s *event.Stack) string {
	if len(s.PCs) == 0 && s.Err == nil {
		return "\n\t(no calls)"
	}
	return string(format.AppendStack(nil, s))
}

// add counts a stack.
func (t *stacks) add(stack string, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += n
	if _, ok := t.counts[stack]; !ok && len(t.counts) >= maxStacks {
		t.other += n
		return
	}
	t.counts[stack] += n
}

// Lines returns the most frequent stacks.
func (t *stacks) Lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lines := t.instead(t.total == 0); lines != nil {
		return lines
	}
	stacks := make([]string, 0, len(t.counts))
	for stack := range t.counts {
		stacks = append(stacks, stack)
	}
	slices.SortFunc(stacks, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), cmp.Compare(a, b))
	})
	lines := []string{fmt.Sprintf("%s in %s", printable.Many(t.total, "event", "events"), printable.Many(len(t.counts), "stack", "stacks"))}
	if t.other > 0 {
		lines[0] += fmt.Sprintf(" and %d in others", t.other)
	}
	for _, stack := range stacks {
		if len(lines) >= n {
			break
		}
		lines = append(lines, fmt.Sprintf("%8d  %5.1f %%", t.counts[stack], 100*float64(t.counts[stack])/float64(t.total)))
		for call := range strings.SplitSeq(strings.TrimPrefix(stack, "\n\t"), "\n\t") {
			lines = append(lines, "          "+call)
		}
	}
	return lines[:min(n, len(lines))]
}
