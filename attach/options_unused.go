package attach

import (
	"fmt"
	"strings"
)

// ofEvents returns an error if options are set that say which events generated
// programs record, and what of them. Programs of the caller's own decide that
// themselves, and silence would be taken for consent.
func (o *Options) ofEvents(programs string) error {
	if o == nil {
		return nil
	}
	return unused(programs+" decide what is recorded", []option{
		{"Where", o.Where != ""},
		{"Comm", o.Comm != ""},
		{"Exe", o.Exe != ""},
		{"Args", len(o.Args) > 0},
		{"Strings", len(o.Strings) > 0},
		{"MaxString", o.MaxString != 0},
		{"Follow", len(o.Follow) > 0},
		{"RingSize", o.RingSize != 0},
	})
}

// ofCollections does so for options that concern programs compiled from C.
func (o *Options) ofCollections(why string) error {
	if o == nil {
		return nil
	}
	return unused(why, []option{{"PrivateStack", o.PrivateStack}})
}

// ofSearch does so for options that say when probes are looked for.
func (o *Options) ofSearch(why string) error {
	if o == nil {
		return nil
	}
	return unused(why, []option{{"Rescan", o.Rescan != 0}, {"Await", o.Await}})
}

type option struct {
	name string
	set  bool
}

func unused(why string, options []option) error {
	var names []string
	for _, o := range options {
		if o.set {
			names = append(names, o.name)
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("%s: %s cannot be applied", why, strings.Join(names, ", "))
}
