package remark

import (
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestForeign says what probes of bpftrace are called here, also of a command that turned out to have none.
func TestForeign(t *testing.T) {
	for probe, want := range map[string]string{
		"usdt:./srv:http:start": "; bpftrace's usdt: is [PATH:]PROVIDER:NAME here",
		"kretfunc:vfs_read":     "; bpftrace's kretfunc: is fexit:FUNC here",
		"interval:s:1":          "; bpftrace has interval:, and sdttrace has no such probes",
		"interval:elapsed":      "",
		"http:start":            "",
	} {
		none := fmt.Errorf("%w %s in process 7, but other:probe would", attach.ErrNoMatch, probe)
		if got := Foreign(Selectors([]error{fmt.Errorf("another"), none})); got != want {
			t.Errorf("%s: %q, want %q", probe, got, want)
		}
		if got := Missing(none, []string{probe}, false); got.Error() != none.Error()+want {
			t.Errorf("%s: %v, want %v%s", probe, got, none, want)
		}
	}
}
