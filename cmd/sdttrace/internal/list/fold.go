package list

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
)

// row is a line of the text: a probe in the processes that have it in the same place of the same
// file, in the same state and with the same watchers.
type row struct {
	*Probe // the first
	pids   []int
	comms  []string
	alike  int // how many more sites of the probe look the same
}

// folded returns the rows of the list, sorted by provider. Sites of a probe that look the same in the
// same processes are one row.
func (l *List) folded() []*row {
	type same struct {
		provider, name, path, args, state, reason, watched, by string
		offset                                                 uint64
	}
	var rows []*row
	rowOf := map[same]*row{}
	for i := range l.Probes {
		p := &l.Probes[i]
		reason := p.Reason
		if p.State == stateDeclared { // which names the process, and there is no file yet
			reason = p.Comm
		}
		key := same{p.Provider, p.Name, p.Path, p.Args, p.State, reason, p.watchedBy(), p.By(), p.offset}
		r := rowOf[key]
		if r == nil || r.pids[len(r.pids)-1] == p.PID { // what a process has twice is two rows
			r = &row{Probe: p}
			rowOf[key] = r
			rows = append(rows, r)
		}
		r.pids = append(r.pids, p.PID)
		if !slices.Contains(r.comms, p.Comm) {
			r.comms = append(r.comms, p.Comm)
		}
	}
	rows = l.sites(rows)
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(a.Provider, b.Provider) })
	return rows
}

// sites joins the rows that look the same in the text.
func (l *List) sites(rows []*row) []*row {
	first := map[string]*row{}
	return slices.DeleteFunc(rows, func(r *row) bool {
		shown := slices.Concat(r.comms, []string{r.Provider, r.Name, r.watchedBy(), r.site(), r.By(), r.Path})
		if l.Verbose {
			shown = append(shown, r.declared(), r.Reason)
		}
		key := fmt.Sprintf("%d %q", r.pids, shown)
		if first[key] == nil {
			first[key] = r
			return false
		}
		first[key].alike++
		return true
	})
}

// site returns the state of the site, with "!" if sdttrace does not attach to it.
func (r *row) site() string {
	if r.Reason != "" && r.State != stateDeclared {
		return r.State + "!"
	}
	return r.State
}

// maxShown is how many probes of a provider a terminal shows beside others', unless they were asked for.
const maxShown = 100

// shown returns the rows to show, and what is left out, a line for each provider.
func (l *List) shown(rows []*row) (shown []*row, left string) {
	if l.Width == 0 || l.Verbose || len(l.Selectors) > 0 || len(rows) == 0 || rows[0].Provider == rows[len(rows)-1].Provider {
		return rows, "" // they are sorted
	}
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(r *row) bool { return r.Provider != rows[0].Provider })
		if n < 0 {
			n = len(rows)
		}
		of := rows[:n]
		if rows = rows[n:]; n <= maxShown {
			shown = append(shown, of...)
			continue
		}
		line := fmt.Sprintf("%d more: sdttrace list %s", n, selector.Shell(selector.Probe("", of[0].Provider, "")+"*"))
		if left == "" && len(shown) > 0 {
			left = "\n"
		}
		left += shorten(printable.String(line), l.Width, false) + "\n"
	}
	return shown, left
}

// processes returns the PID of the row's process, or the first one and how many more have it.
func (r *row) processes() string { return andMore(fmt.Sprint(r.pids[0]), len(r.pids)-1) }

// andMore returns a word, and how many more there are.
func andMore(word string, more int) string {
	if more == 0 {
		return word
	}
	return fmt.Sprintf("%s +%d", word, more)
}

// named returns what processes are called.
func named(comms []string) string {
	return andMore(printable.Name(comms[0]), len(comms)-1)
}

// summary writes a line for each provider.
func (l *List) summary(w io.Writer) error {
	type provider struct {
		name            string
		probes, watched map[string]bool
		pids            map[int]bool
		comms, by       []string
	}
	var all []*provider
	named := map[string]*provider{}
	for i := range l.Probes {
		p := &l.Probes[i]
		of := named[p.Provider]
		if of == nil {
			of = &provider{name: p.Provider, probes: map[string]bool{}, watched: map[string]bool{}, pids: map[int]bool{}}
			named[p.Provider] = of
			all = append(all, of)
		}
		of.probes[p.Name], of.pids[p.PID] = true, true
		if !slices.Contains(of.comms, p.Comm) {
			of.comms = append(of.comms, p.Comm)
		}
		if by := p.By(); by != "-" {
			of.watched[p.Name] = true
			for by := range strings.SplitSeq(by, ",") {
				if !slices.Contains(of.by, by) {
					of.by = append(of.by, by)
				}
			}
		}
	}
	if len(all) < 2 {
		return nil // the rows say it
	}
	slices.SortFunc(all, func(a, b *provider) int { return cmp.Compare(a.name, b.name) })
	t := table{width: l.Width, columns: []column{
		{name: "PROVIDER"}, {name: "PROBES", right: true}, {name: "WATCHED", right: true}, {name: "PROCESSES", right: true},
		{name: "COMM", least: 6, drop: true}, {name: "BY", least: 6, end: true},
	}}
	for _, p := range all {
		comms := make([]string, len(p.comms))
		for i, comm := range p.comms {
			comms[i] = printable.Name(comm)
		}
		name := p.name
		if !printable.IsName(name) {
			name = strconv.Quote(printable.Name(name)) // it begins a line
		}
		t.rows = append(t.rows, []string{
			name, fmt.Sprint(len(p.probes)), fmt.Sprint(len(p.watched)), fmt.Sprint(len(p.pids)),
			some(comms), cmp.Or(some(p.by), "-"),
		})
	}
	if err := t.write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// some returns the first words, and how many more there are.
func some(words []string) string {
	const most = 3
	first := words[:min(len(words), most)]
	return andMore(strings.Join(first, ","), len(words)-len(first))
}
