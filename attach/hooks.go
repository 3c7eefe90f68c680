package attach

import (
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/kernel"
	"github.com/go-usdt/usdt/attach/internal/link"
)

// hookOf returns what programs have to be for a link of this kind. Those of all kinds
// may sleep, where the kernel lets them.
func hookOf(k link.Kind) codegen.Hook {
	return codegen.Hook{Type: k.ProgramType(), Attach: k.AttachType(), Sleeps: kernel.Sleepable.Require() == nil}
}
