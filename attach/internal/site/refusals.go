package site

import (
	"errors"
	"fmt"
	"os"

	"github.com/go-usdt/usdt/reader"
)

// ErrNoSite is wrapped by the error for a plan if none of its sites could be
// attached to.
var ErrNoSite = errors.New("no site could be attached to")

// Refuse makes err the reason of the sites without one.
func (p Plan) Refuse(err error) {
	for i := range p {
		if !p[i].Attached && p[i].Reason == nil {
			p[i].Reason = err
		}
	}
}

// Refused returns the error for a plan if none of its sites could be attached to.
func (p Plan) Refused() error {
	for i := range p {
		if s := &p[i]; s.Reason != nil {
			err := fmt.Errorf("%w: %s at %#x: %w", ErrNoSite, Name(&s.Probe), s.Offset, s.Reason)
			if len(p) > 1 {
				err = fmt.Errorf("%w (and %d others)", err, len(p)-1)
			}
			return err
		}
	}
	return ErrNoSite
}

// Gone reports whether everything that the plan names has ended or been unloaded
// since it was made.
func (p Plan) Gone() bool {
	for i := range p {
		if !errors.Is(p[i].Reason, os.ErrNotExist) && !errors.Is(p[i].Reason, os.ErrProcessDone) {
			return false
		}
	}
	return true
}

// Name returns the probe's name for people: PROVIDER:NAME, with "uprobe:" or
// "uretprobe:" before it for functions.
func Name(p *reader.Probe) string {
	if p.Kind != reader.USDT {
		return p.Kind.String() + ":" + p.Provider + ":" + p.Name
	}
	return p.Provider + ":" + p.Name
}
