package bind_test

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
)

// TestLongNames checks that a probe whose name would make events many times as large as their records is
// refused, and costs the others nothing.
func TestLongNames(t *testing.T) {
	long, hidden := strings.Repeat("n", 4096), strings.Repeat("\x01", 1000)
	c := &bindtest.Case{Probes: []bindtest.Probe{{Name: "n"}, {Name: long}, {Name: hidden}, {Name: long[:4095]}}}
	bound, err := c.Bind()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"",
		"its name, which each event would repeat, takes 4097 bytes of text: more than 4096",
		"its name, which each event would repeat, takes 6001 bytes of text: more than 4096",
		"",
	} {
		got := ""
		if reason := bound.Plan[i].Reason; reason != nil {
			got = reason.Error()
		}
		if got != want || (bound.Schemas[i] == nil) != (want != "") {
			t.Errorf("name %.10q of %d bytes: schema %v, reason %q, want %q", c.Probes[i].Name, len(c.Probes[i].Name), bound.Schemas[i], got, want)
		}
	}
}
