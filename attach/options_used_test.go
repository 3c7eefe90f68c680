package attach_test

import (
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestUselessOptions checks that options which mean nothing to any of the probes
// are errors that name them.
func TestUselessOptions(t *testing.T) {
	p := startChild(t, "nested")
	p.Do("load")
	for _, test := range []struct {
		opts attach.Options
		want string
	}{
		{attach.Options{Strings: []string{"arg0"}}, "Strings"},
		{attach.Options{Follow: []string{"other:record:Peer.Next"}}, "Follow"},
		{attach.Options{Follow: []string{"Up", "*.Nothing"}}, "Follow"},
		{attach.Options{Args: []string{"retval"}}, "Args"},
		{attach.Options{Await: true}, "Rescan"},
	} {
		test.opts.Target.PIDs = []int{p.PID()}
		s, err := attach.Open(t.Context(), []string{"nest:record"}, &test.opts)
		if err == nil {
			s.Close()
		}
		var option *attach.OptionError
		if !errors.As(err, &option) || option.Option != test.want {
			var privilege *attach.PrivilegeError
			if errors.As(err, &privilege) {
				continue // it has not come to looking at the probes
			}
			t.Errorf("%+v: got error %v, want one in %s", test.opts, err, test.want)
		}
	}
}

// TestRestricted adds conditions to options, which hold both, and leaves the options themselves alone.
func TestRestricted(t *testing.T) {
	for _, test := range [][3]string{{"", "", ""}, {"", "a || b", "a || b"}, {"c || d", "", "c || d"}, {"c || d", "a || b", "(c || d) && (a || b)"}} {
		o := attach.Options{Where: test[0]}
		if got := o.Restricted(test[1]).Where; got != test[2] || o.Where != test[0] {
			t.Errorf("%q and %q: %q, want %q; the options have %q", test[0], test[1], got, test[2], o.Where)
		}
	}
}
