package usdtreceiver

import (
	"sync"

	"github.com/go-usdt/usdt/symbols"
)

// shared is what names the code of all profiles, while there are some: many traces look at the same
// programs.
var shared struct {
	mu       sync.Mutex
	users    int
	resolver *symbols.Resolver
}

// maxSymbols is how many bytes of symbols are kept.
const maxSymbols = 32 << 20

// useSymbols returns the resolver, until release is called.
func useSymbols() (r *symbols.Resolver, release func()) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users++; shared.users == 1 {
		shared.resolver = symbols.NewResolver(&symbols.Options{Memory: maxSymbols})
	}
	return shared.resolver, func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.users--; shared.users == 0 {
			_ = shared.resolver.Close() // it only forgets
			shared.resolver = nil
		}
	}
}
