package stub

import "github.com/go-usdt/usdt/notes"

// CodeFor returns the stub with the given site; ok is false if this machine
// has none.
func CodeFor(site notes.SiteKind) (c Code, ok bool) {
	for _, c := range codes {
		if c.Site == site {
			return c, true
		}
	}
	return Code{}, false
}
