package attach

import (
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/kernel"
	"github.com/go-usdt/usdt/attach/internal/link"
)

// hookOf returns the hook that programs need for a link of kind k. All may sleep,
// where the kernel lets them.
func hookOf(k link.Kind) codegen.Hook {
	return codegen.Hook{Type: k.ProgramType(), Attach: k.AttachType(), Sleeps: kernel.Sleepable.Require() == nil}
}
