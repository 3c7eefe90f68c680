package attach

import (
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

// hookOf returns the hook that programs need for a link of kind k to files. All may sleep,
// where the kernel lets them.
func hookOf(k link.Kind) query.Hook {
	return query.Hook{Type: k.ProgramType(), Attach: k.AttachType(), Sleeps: kernel.Sleepable.Require() == nil}
}
