package plan

import (
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestKinds checks that each probe gets its kind of site.
func TestKinds(t *testing.T) {
	fn := &reader.Function{Symbols: []string{"f"}, Address: 0x1000}
	ret := fn.Return()
	ret.AtRET = true
	for want, p := range map[string]reader.Probe{
		"USDT":               {Note: notes.Note{Provider: "p", Name: "n"}},
		"function entry":     fn.Entry(),
		"function return":    fn.Return(),
		"return instruction": ret,
		"instruction":        fn.At(4),
	} {
		if got := kindOf(&p).name; got != want {
			t.Errorf("%s is planned as %q", want, got)
		}
	}
}
