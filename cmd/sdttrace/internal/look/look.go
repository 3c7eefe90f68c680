// Package look chooses what the first look at a provider shows.
package look

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// IsProvider reports whether a word can only be the name of a provider.
func IsProvider(word string) bool { return provider.MatchString(word) }

// Whole returns the words with all probes of a provider in the place of its name. Names of probes have
// "__", and the calls that --stack bounds are no provider.
func Whole(words []string) []string {
	all := slices.Clone(words)
	for i, word := range all {
		if IsProvider(word) && !strings.Contains(word, "__") && !flagvalue.IsStack(word) {
			all[i] += ":*"
		}
	}
	return all
}

var provider = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// halves are how the names of starts and ends differ.
var halves = []struct{ start, end string }{
	{"_start", "_done"}, {"_start", "_end"}, {"_start", "_stop"}, {"_begin", "_end"}, {"_begin", "_done"}, {"_entry", "_return"}, {"_entry", "_exit"}, {"_enter", "_exit"}, {"_enter", "_leave"},
}

// Of returns what the table says of the provider, as far as the sites have the probes, or else
// the pairs that the names of the probes make, and the other probes.
func Of(table *prototype.Table, provider string, sites attach.Plan) (all []prototype.Look) {
	probes := map[string]*reader.Probe{}
	var names []string
	for i := range sites {
		if p := &sites[i].Probe; p.Provider == provider && sites[i].Reason == nil && probes[p.Name] == nil {
			probes[p.Name], names = p, append(names, p.Name)
		}
	}
	for _, l := range table.Looks(provider) {
		if !slices.ContainsFunc(Probes(l), func(probe string) bool { return probes[strings.TrimPrefix(probe, provider+":")] == nil }) {
			all = append(all, l)
		}
	}
	if len(all) > 0 {
		return all
	}
	slices.Sort(names)
	paired := map[string]bool{}
	for _, name := range names {
		for _, h := range halves {
			stem, ok := strings.CutSuffix(name, h.start)
			end := probes[stem+h.end]
			if !ok || end == nil || paired[name] || paired[end.Name] {
				continue
			}
			paired[name], paired[end.Name] = true, true
			l := prototype.Look{Span: provider + ":" + name + "," + provider + ":" + end.Name}
			if hasID(probes[name]) && hasID(end) {
				l.Span += ":id"
			}
			all = append(all, l)
		}
	}
	for _, name := range names {
		if !paired[name] {
			all = append(all, prototype.Look{Span: provider + ":" + name})
		}
	}
	return all
}

// hasID reports whether a probe has an argument that says which request it belongs to.
func hasID(p *reader.Probe) bool {
	return p.Type != nil && slices.ContainsFunc(p.Type.Fields, func(f reader.Field) bool { return f.Name == "id" })
}

// function returns the selector of the function that ends the pairs of a look, empty where a probe does.
func function(l prototype.Look) string {
	if _, end, ok := strings.Cut(l.Span, ","); ok && strings.HasPrefix(end, reader.Uprobe.String()+":") {
		return end
	}
	return ""
}

// Probes returns the probes of a look, without a function.
func Probes(l prototype.Look) []string {
	start, end, ok := strings.Cut(l.Span, ",")
	if !ok || function(l) != "" {
		return []string{start}
	}
	parts := strings.SplitN(end, ":", 3) // with a key behind it
	return []string{start, parts[0] + ":" + parts[1]}
}
