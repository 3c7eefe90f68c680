package look

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Finder finds what the first look at providers shows.
type Finder struct {
	Table      *prototype.Table
	Recordings []string // nil for live processes
	PIDs       []int    // nil for all
	Force      bool
	Later      bool // the processes may come later
}

// Find returns the looks at the providers among words, and the other words.
func (f *Finder) Find(ctx context.Context, words []string) (all []prototype.Look, rest []string, err error) {
	for _, word := range words {
		if !IsProvider(word) {
			rest = append(rest, word)
			continue
		}
		sites, err := f.sites(ctx, word+":*")
		if err != nil && !errors.Is(err, attach.ErrNoMatch) {
			return nil, nil, err
		}
		some, err := f.settle(ctx, Of(f.Table, word, sites), sites)
		if err != nil {
			return nil, nil, err
		}
		if len(some) == 0 && f.Later {
			if some = first(f.Table.Looks(word)); len(some) == 0 {
				some = []prototype.Look{{Span: word + ":*"}}
			}
		}
		if len(some) == 0 {
			return nil, nil, f.none(ctx, word)
		}
		all = append(all, some...)
	}
	return all, rest, nil
}

// settle names the files of a function that ends the pairs of a look, in whose place the look then is, or
// leaves the look out where a program that has its start lacks the function.
func (f *Finder) settle(ctx context.Context, looks []prototype.Look, sites attach.Plan) ([]prototype.Look, error) {
	at := slices.IndexFunc(looks, func(l prototype.Look) bool { return function(l) != "" })
	if at < 0 {
		return looks, nil
	}
	l := &looks[at]
	start, _, _ := strings.Cut(l.Span, ",")
	var paths []string
	for i := range sites {
		if p := &sites[i].Probe; p.Provider+":"+p.Name == start && !slices.Contains(paths, sites[i].Path) {
			paths = append(paths, sites[i].Path)
		}
	}
	all := make([]string, len(paths))
	name := function(*l)[strings.LastIndexByte(function(*l), ':')+1:]
	for i, path := range paths {
		all[i] = selector.QuotePath(path)
		found, err := f.sites(ctx, selector.Function(reader.Uprobe.String(), path, name))
		if err != nil && !errors.Is(err, attach.ErrNoMatch) {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(s attach.Site) bool { return s.Reason == nil }) {
			return slices.Delete(looks, at, at+1), nil
		}
	}
	file := strings.Join(all, ",")
	if len(all) > 1 {
		file = "{" + file + "}"
	}
	l.Span = start + "," + reader.Uprobe.String() + ":" + file + ":" + name
	return first(looks), nil
}

// first leaves out looks at pairs in whose place one that ends at a function stands, with the same start.
func first(looks []prototype.Look) []prototype.Look {
	starts := map[string]bool{}
	return slices.DeleteFunc(looks, func(l prototype.Look) bool {
		start, _, _ := strings.Cut(l.Span, ",")
		replaced := starts[start]
		starts[start] = replaced || function(l) != ""
		return replaced
	})
}

// Pair returns the pair that matters first of a provider, or of a probe that is a start; nil if there
// is none.
func (f *Finder) Pair(ctx context.Context, word string) (*prototype.Look, error) {
	if IsProvider(word) {
		looks, _, err := f.Find(ctx, []string{word})
		if i := slices.IndexFunc(looks, func(l prototype.Look) bool { return !l.Single() }); i >= 0 {
			return &looks[i], err
		}
		return nil, err
	}
	parsed, err := selector.Parse(word)
	if err != nil || parsed.Kind != reader.USDT || strings.ContainsAny(parsed.Provider+parsed.Name, "*?[") {
		return nil, nil // whoever reads the selectors says why
	}
	at := strings.TrimSuffix(word, parsed.Name) // with the path
	start := parsed.Provider + ":" + parsed.Name
	l := f.Table.Pair(start, "")
	if l != nil && function(*l) != "" {
		looks, _, err := f.Find(ctx, []string{parsed.Provider})
		i := slices.IndexFunc(looks, func(l prototype.Look) bool { return strings.HasPrefix(l.Span, start+",") })
		if err != nil || i < 0 {
			return nil, err
		}
		l = &looks[i]
	}
	if l != nil {
		l.Span = at + strings.TrimPrefix(strings.Replace(l.Span, ","+parsed.Provider+":", ","+at, 1), parsed.Provider+":")
		return l, nil
	}
	sites, err := f.sites(ctx, at+"*")
	if err != nil && !errors.Is(err, attach.ErrNoMatch) {
		return nil, err
	}
	for _, l := range Of(nil, parsed.Provider, sites) {
		if from, rest, ok := strings.Cut(l.Span, ","); ok && from == start {
			l.Span = word + "," + at + strings.TrimPrefix(rest, parsed.Provider+":")
			return &l, nil
		}
	}
	return nil, nil
}

// none returns the error for a word that names no provider: what there is instead.
func (f *Finder) none(ctx context.Context, word string) error {
	sites, err := f.sites(ctx, "*:*")
	if err != nil && !errors.Is(err, attach.ErrNoMatch) {
		return err
	}
	all := map[string]bool{}
	for i := range sites {
		all[sites[i].Probe.Provider] = true
	}
	providers := slices.Sorted(maps.Keys(all))
	nearest := spelling.Nearly(word, providers)
	if f.Recordings != nil {
		return fmt.Errorf("the recordings have no probes of a provider %s, but of %s%s", word, strings.Join(providers, ", "), nearest)
	}
	return fmt.Errorf("nothing that is traced has probes of a provider %s%s: sdttrace list shows the providers of running processes", word, nearest)
}

// sites returns where the probes are that a selector names.
func (f *Finder) sites(ctx context.Context, selector string) (attach.Plan, error) {
	if f.Recordings == nil {
		return attach.Find(ctx, []string{selector}, &attach.FindOptions{Target: attach.Target{PIDs: f.PIDs}, Force: f.Force})
	}
	s, err := attach.Open(ctx, []string{selector}, &attach.Options{Target: attach.Target{Recordings: f.Recordings}})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Plan(), nil
}
