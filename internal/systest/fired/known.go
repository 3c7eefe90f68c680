package fired

import (
	"os"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// Known checks that package prototype names the arguments of a provider's n probes as the
// probes themselves do, for readers that see notes only.
func Known(t *testing.T, name string, n int) {
	t.Helper()
	if err := provider.LoadAll(nil); err != nil {
		t.Fatal(err)
	}
	defer provider.CloseAll()
	process, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	for p, err := range process.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if p.Provider != name {
			continue
		}
		n--
		known := prototype.Known().Lookup(p.Provider, p.Name, p.Arguments(), notes.ELFCLASS64)
		if known == nil {
			t.Errorf("%s:%s(%v) has no prototype", p.Provider, p.Name, p.Args)
			continue
		}
		// Notes leave out arrays, and what is behind the twelfth place.
		at := 0
		for _, param := range known.Params {
			for !param.IsLength && at < len(p.Type.Fields) && p.Type.Fields[at].Name != param.Name {
				at++
			}
			if at == len(p.Type.Fields) {
				t.Errorf("%v names %q, which the probe does not have there: %v", known, param.Name, p.Type.Fields)
			}
		}
	}
	if n != 0 {
		t.Errorf("%d probes of %s are missing", n, name)
	}
}
