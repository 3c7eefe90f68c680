package page

import (
	"regexp"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// identifiers are the names of numbers that identify something: their mean says nothing.
var identifiers = regexp.MustCompile(`^(id|.*_id|.*[a-z](Id|ID)|[ptug]id|oid|xid|fd|lineno)$`)

// places are the names of what lies in registers when a function is called, whatever it is.
var places = regexp.MustCompile(`^arg\d+$`)

// measures reports whether an argument measures something, so that its distribution is of
// interest.
func (p *Page) measures(declared *reader.Probe, a *event.Arg) bool {
	function := declared != nil && declared.Kind != reader.USDT && declared.Type == nil
	return !identifiers.MatchString(a.Name) && (p.Registers || !function || !places.MatchString(a.Name))
}
