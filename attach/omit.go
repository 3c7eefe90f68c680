package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// Omit is a set of parts that events need not have, see [Options.Omit].
type Omit uint8

const (
	OmitTime    Omit = 1 << iota // [event.Event.Time]: it is zero
	OmitProcess                  // PID and TID of [event.Event]: they are 0
	OmitComm                     // [event.Event.Comm]: it is empty

	omitAll = OmitTime | OmitProcess | OmitComm
)

// fields returns the fields of records that hold these parts.
func (o Omit) fields() query.Omit {
	return query.Omit{Time: o&OmitTime != 0, Task: o&OmitProcess != 0, Comm: o&OmitComm != 0}
}

// checkOmit returns what is wrong with Omit.
func (o *Options) checkOmit() error {
	switch {
	case o.Omit&^omitAll != 0:
		return fmt.Errorf("%#x is not a set of OmitTime, OmitProcess and OmitComm", uint8(o.Omit))
	case o.Omit&OmitProcess != 0 && o.Stack > 0:
		return errors.New("the functions of a stack are named by its process")
	}
	return nil
}

// refuseOmit returns an error if parts are omitted that something needs.
func (o *Options) refuseOmit(why string) error {
	if o.Omit == 0 {
		return nil
	}
	return &OptionError{"Omit", errors.New(why)}
}
