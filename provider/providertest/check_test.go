package providertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestCheck checks that wrong declarations fail tests, including declarations made while a
// recorder records.
func TestCheck(t *testing.T) {
	p := provider.New("rectestcheck"+time.Now().Format("150405.000000000")[7:], nil) // new also with -count
	provider.NewProbe0(p, "fine")
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	var recorded, checked failing
	providertest.Record(&recorded, p)
	provider.NewProbe1[int](p, "wrong-name", "n")
	recorded.end()
	providertest.Check(&checked)
	for _, got := range []string{recorded.err, checked.err} {
		if want := "declare probe " + p.Name() + ":wrong-name at "; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
