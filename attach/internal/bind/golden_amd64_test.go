package bind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
)

// TestSignatures binds what is asked in many ways, and compares the signatures, fields and
// refusals with those of testdata.
func TestSignatures(t *testing.T) {
	bindtest.Golden(t, "signatures.txt", func(t *testing.T, c *bindtest.Case) string {
		bound, err := c.Bind()
		if err != nil {
			return "error: " + err.Error()
		}
		var b strings.Builder
		for i, sc := range bound.Schemas {
			s := &bound.Plan[i]
			fmt.Fprintf(&b, "p:%s %s\n", s.Probe.Name, s.Probe.Args)
			if s.Reason != nil {
				fmt.Fprintln(&b, "  refused:", s.Reason)
			}
			for _, err := range s.Uncomputed {
				fmt.Fprintln(&b, "  uncomputed:", err)
			}
			if sc == nil {
				continue
			}
			fmt.Fprintln(&b, "  signature", bindtest.Dump(sc.Sig))
			if sc.Computed != nil {
				fmt.Fprintln(&b, "  computed", bindtest.Dump(sc.Computed))
			}
			for i := range sc.Fields {
				f := &sc.Fields[i]
				if f.Err != nil {
					fmt.Fprintf(&b, "  %s: %v\n", f.Name, f.Err)
					continue
				}
				fmt.Fprintf(&b, "  %s: kind %d of source %d at %d, %d bytes\n", f.Name, f.Kind, f.Source, f.Offset, f.Size)
			}
		}
		if bound.Layout != nil {
			fmt.Fprintln(&b, "layout", bindtest.Dump(bound.Layout))
		}
		return b.String()
	})
}
