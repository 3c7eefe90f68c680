// Package kernelsites finds what can be traced in the running kernel: a file, and a line of sources, for
// each place from which sites are known.
package kernelsites

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// sources are the places from which sites are known.
var sources = []*source{&tracepoints, &functions}

// source is where the sites of some kinds are known from.
type source struct {
	kinds []reader.ProbeKind
	load  func() (sites, error) // tests put their own in its place
}

// sites are those of a source, in the running kernel.
type sites interface {
	// find keeps the sites that selectors of the source's kinds name.
	find(s *Search) error
	// missing says what a selector that names nothing may have meant, to stand behind an error: hot sites
	// were left out since their calls never end and it does not name them exactly.
	missing(sel *selector.Selector, hot int) string
	// words calls yield with what begins with prefix, without the word of the kind. More has to follow what
	// ends in a colon.
	words(prefix string, yield func(before, name, end string))
}

func (of *source) has(kind reader.ProbeKind) bool { return slices.Contains(of.kinds, kind) }

// Search looks for sites of the kernel once.
type Search struct {
	Selectors []selector.Selector // those of files are skipped
	// Matched and Hot say, by selector, whether it names a site, and how many it does not name exactly that
	// run all the time, or while programs run, and are left out.
	Matched []bool
	Hot     []int
	// Interrupted reports whether results are no longer needed, and Keep gets each site, to copy it.
	Interrupted func() bool
	Keep        func(*reader.Probe)

	loaded map[*source]sites
}

// Find finds the sites. The first selector that names one gives it its name.
func (s *Search) Find() error {
	s.loaded = map[*source]sites{}
	for _, of := range sources {
		if !slices.ContainsFunc(s.Selectors, func(sel selector.Selector) bool { return of.has(sel.Kind) }) {
			continue
		}
		all, err := of.load()
		if err != nil {
			return err
		}
		s.loaded[of] = all
		if err := all.find(s); err != nil {
			return err
		}
	}
	return nil
}

// Missing says what the selector with an index, which names nothing, may have meant, to stand behind an
// error; it may be empty.
func (s *Search) Missing(i int) string {
	for of, all := range s.loaded {
		if of.has(s.Selectors[i].Kind) {
			return all.missing(&s.Selectors[i], s.Hot[i])
		}
	}
	return ""
}

// Complete returns the words of selectors that begin with prefix, whose kind is the kernel's if ok. More
// has to follow words that end in a colon. It offers names that shells leave alone, and nothing where
// sites cannot be read.
func Complete(prefix string) (words []string, ok bool) {
	word, rest, _ := strings.Cut(prefix, ":")
	kind, _ := reader.ParseProbeKind(word)
	for _, of := range sources {
		if !strings.Contains(prefix, ":") || !of.has(kind) {
			continue
		}
		ok = true
		all, err := of.load()
		if err != nil {
			continue
		}
		all.words(rest, func(before, name, end string) {
			if printable.IsName(name) {
				words = append(words, word+":"+before+name+end)
			}
		})
	}
	return words, ok
}
