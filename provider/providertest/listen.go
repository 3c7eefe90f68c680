package providertest

import (
	_ "unsafe" // for go:linkname

	"github.com/go-usdt/usdt/internal/tap"
	"github.com/go-usdt/usdt/provider"
)

// listen is the function of package provider with this name, which says what it does.
// Not even the linker compares the two declarations.
//
//go:linkname listen github.com/go-usdt/usdt/provider.listen
func listen(p *provider.Provider, listener tap.Listener) (tap.Source, error)
