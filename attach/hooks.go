package attach

import (
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

// hookOf returns the hook that programs need for a link of kind k. All may sleep,
// where the kernel lets them.
func hookOf(k link.Kind) query.Hook {
	if k == link.KernelMulti || k == link.KernelPerf {
		return query.Hook{Type: k.ProgramType(), Attach: k.AttachType(), Kernel: true}
	}
	return query.Hook{Type: k.ProgramType(), Attach: k.AttachType(), Sleeps: kernel.Sleepable.Require() == nil}
}
