package discover

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Cast is a value with the type that the user says it has.
type Cast struct {
	Parts []reader.Variable // the value, in register 0, and what is at its address
	Err   error
}

// castKey says where a type is looked for: its name may be another one's elsewhere.
type castKey struct {
	path string
	unit int
	cast symbols.Cast
}

// Cast returns the parts of a value that is cast at p. All sites of a compilation unit have the same
// result.
func (t *Types) Cast(p *reader.Probe, cast symbols.Cast) *Cast {
	path := p.Attachable()
	c := t.open(path)
	addr := p.Location + p.Delta
	key := castKey{path, c.Unit(addr), cast}
	if known, ok := t.casts[key]; ok {
		return known
	}
	all, names, known, err := c.Cast(addr, cast)
	switch {
	case err == nil && !known:
		err = fmt.Errorf("%s has no debugging information, which has types (compile with -g, do not strip)", p.Path)
	case errors.Is(err, symbols.ErrNoType):
		err = fmt.Errorf("%w in %s%s", err, p.Path, nearestType(cast.Type, names))
	}
	out := &Cast{variables(all), err}
	t.casts[key] = out
	return out
}

// nearestType says which type may be meant.
func nearestType(name string, names []string) string {
	lower := map[string]string{}
	for _, n := range names {
		lower[strings.ToLower(n)] = n
	}
	var all []string
	for n := range lower {
		all = append(all, n)
	}
	slices.Sort(all)
	if i := strings.LastIndexAny(name, ":./"); i >= 0 && spelling.Nearest(name, all) == "" {
		name = name[i+1:]
	}
	if nearest := spelling.Nearest(name, all); nearest != "" {
		return spelling.NearestIs + lower[nearest]
	}
	return ""
}
