package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// TestFacts compares what signatures say of the code and the memory that they need with what
// testdata has.
func TestFacts(t *testing.T) {
	var dumps query.Index[string]
	bindtest.Golden(t, "facts.txt", func(t *testing.T, c *bindtest.Case) string {
		bound, err := c.Bind()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i, sig := range bound.Signatures() {
			if other, ok := dumps.Find(sig); ok && other != bindtest.Dump(sig) {
				t.Errorf("%s: signature %d is equal to another one", c.Name, i)
			}
			dumps.Put(sig, bindtest.Dump(sig))
			fmt.Fprintf(&b, "record: fixed %d, most %d, compared %d\n", sig.FixedSize(), sig.RecordSize(), sig.ComparedString())
			fmt.Fprintf(&b, "scratch: %v, %d bytes, strings at %d, mask %#x, fits: %v\n", sig.NeedsScratch(), sig.ScratchSize(), sig.StringArea(), sig.CursorMask(), sig.Fits())
			fmt.Fprintf(&b, "code: early %v, site %v, filters %v, memory %v\n", sig.FiltersEarly(), sig.NamesSite(), sig.Filters(), sig.ReadsMemory())
			if agg := sig.Aggregate; agg != nil {
				fmt.Fprintf(&b, "aggregate: keys %d, only counts %v, missing %v, stack %v\n", agg.KeysSize(), agg.OnlyCounts(), agg.Missing(), agg.StackPart() != nil)
			}
		}
		if l := bound.Layout; l != nil {
			fmt.Fprintf(&b, "groups: %d words, %d of %d, shared %v, folds %v, by stack %v\n", l.Words(), l.MaxGroups(), l.Room(), l.Shared(), l.Wanted.Folds(), l.Wanted.ByStack())
		}
		return b.String()
	})
}
