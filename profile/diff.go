package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/go-usdt/usdt/internal/printable"
)

// Diff is a profile beside the one with which it is compared.
type Diff struct{ Base, Now *Profile }

// baseLabel marks samples that are subtracted, as "pprof -diff_base" does: pprof's
// percentages are then parts of them (profile.Sample.DiffBaseSample).
const baseLabel = "pprof::base"

// WritePprof writes the samples of both for pprof, the base's with negative values. Now has
// them then.
func (d *Diff) WritePprof(w io.Writer) error {
	for _, s := range d.Base.sorted() {
		base := &sample{comm: s.comm, texts: append(slices.Clip(s.texts), text{baseLabel, "true"}), numbers: s.numbers}
		for _, c := range s.stack {
			base.stack = append(base.stack, d.Now.callsOf(c.frames))
		}
		var values []int64
		for _, v := range s.values {
			values = append(values, -v)
		}
		d.Now.add(base, values...)
	}
	return d.Now.WritePprof(w)
}

// WriteFolded writes the stacks of both with both values, as difffolded.pl of FlameGraph does
// (https://github.com/brendangregg/FlameGraph), which flamegraph.pl draws.
func (d *Diff) WriteFolded(w io.Writer) error {
	lines, sums := d.Now.folded()
	before, old := d.Base.folded()
	for _, line := range before {
		if _, ok := sums[line]; !ok {
			lines = append(lines, line)
		}
	}
	out := bufio.NewWriter(w)
	for _, line := range lines {
		fmt.Fprintf(out, "%s %d %d\n", line, old[line], sums[line])
	}
	return out.Flush()
}

// WriteText writes a table of functions: the values of the stacks that have them, in both, and by
// how much these differ. The greatest difference comes first.
func (d *Diff) WriteText(w io.Writer) error {
	old, now := d.Base.functions(), d.Now.functions()
	names := make([]string, 0, len(now))
	for name := range now {
		names = append(names, name)
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	change := func(name string) int64 { return now[name] - old[name] }
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(max(change(b), -change(b)), max(change(a), -change(a))), cmp.Compare(a, b))
	})
	width := len("before") // no more than the numbers need, for the names' sake
	for _, name := range names {
		width = max(width, len(fmt.Sprint(old[name])), len(fmt.Sprint(now[name])), len(fmt.Sprintf("%+d", change(name))))
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%*s %*s %*s  %s, %s\n", width, "before", width, "after", width, "change", d.Now.values[d.Now.shown].Type, d.Now.values[d.Now.shown].Unit)
	for _, name := range names {
		fmt.Fprintf(out, "%*d %*d %+*d  %s\n", width, old[name], width, now[name], width, change(name), printable.String(name))
	}
	return out.Flush()
}

// functions returns the value of the stacks that have each function.
func (p *Profile) functions() map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.samples {
		seen := map[string]bool{}
		for _, c := range s.stack {
			for i := range c.frames {
				if name := c.frames[i].Name(); !seen[name] {
					seen[name] = true
					sums[name] += s.values[p.shown]
				}
			}
		}
	}
	return sums
}
