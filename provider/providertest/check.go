package providertest

import (
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// Check fails the test if a declaration of this process is wrong: see [provider.Check]. A
// library that declares in constructors calls it at the end of a test that has called them.
func Check(t testing.TB) {
	t.Helper()
	if err := provider.Check(); err != nil {
		t.Errorf("declared probes: %v", err)
	}
}
