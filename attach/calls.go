package attach

import (
	"errors"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
)

// joinCalls finds the starts and ends of a batch that are entries of functions and returns from them,
// and for which the kernel can run one program: then it knows itself which entry a return belongs to.
func (p *programs) joinCalls(b *batch) error {
	calls := p.layout.Calls(b.plan, b.schemas)
	if len(calls) == 0 || p.options.recorded {
		return nil
	}
	type pair struct{ start, end *query.Signature }
	joined := map[pair]*query.Signature{}
	for i, end := range calls {
		kind := p.kind
		if probe := &b.plan[i].Probe; probe.Kind.InKernel() {
			kind = p.linkTo(probe)
		}
		attachment, err := kind.CallProgram()
		if errors.Is(err, ebpf.ErrNotSupported) {
			return nil // the sites of a batch have one kind
		}
		if err == nil && p.callFunctions == (kernel.CallFunctions{}) {
			p.callFunctions, err = kernel.FindCallFunctions()
		}
		if err != nil {
			return privilege.Explain("ask the kernel for programs at entries and returns", err)
		}
		of := pair{b.schemas[i].Sig, b.schemas[end].Sig}
		if joined[of] == nil {
			joined[of] = of.start.OfCall(of.end, attachment)
		}
		if b.programs == nil {
			b.calls, b.programs = calls, map[int]*query.Signature{}
		}
		b.programs[i], b.programs[end] = joined[of], joined[of]
	}
	return nil
}
