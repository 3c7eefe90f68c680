package link

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// kernelMultiLinks are kprobe_multi links, which hold many functions of the kernel.
var kernelMultiLinks = mechanism{
	name:       "kprobe_multi",
	program:    ebpf.Kprobe,
	attachment: ebpf.AttachTraceKprobeMulti,
	usable:     func(bool) error { return features.HaveBPFLinkKprobeMulti() },
	since:      "Linux 5.18 has them if it was built with CONFIG_FPROBE, on arm64 Linux 6.14",
	attach:     attachKernel,
}

// attachKernel attaches by as few links as possible.
func attachKernel(ctx context.Context, a *attempt) error {
	for start, end := range chunks(len(a.Sites)) {
		sites := make([]int, 0, end-start)
		for i := start; i < end; i++ {
			sites = append(sites, i)
		}
		// The kernel wants cookies by address.
		slices.SortFunc(sites, func(i, j int) int {
			if a.Sites[i].Offset < a.Sites[j].Offset {
				return -1
			}
			return 1
		})
		if err := a.attachKernel(ctx, sites); err != nil {
			return err
		}
	}
	return nil
}

// attachKernel attaches sites. The kernel attaches all or none: a refused one is found by halving.
func (a *attempt) attachKernel(ctx context.Context, sites []int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	fd, err := a.calls.LinkKernel(a.Group, sites)
	if err == nil {
		for _, i := range sites {
			a.outcomes[i] = nil
		}
		a.links = append(a.links, Link{File: a.File, PID: a.PID, Prog: a.Prog, kernel: true, session: a.Session, fd: fd, event: -1})
		return nil
	}
	if whole := a.wholeError(err); whole != nil {
		return whole
	}
	if errors.Is(err, unix.EINVAL) && a.Prog != nil && refusesKernelProgram(a.Prog, a.Session) {
		return fmt.Errorf("attach to the kernel: the program was not loaded for kprobe_multi links, which need the attach type TraceKprobeMulti: %w", err)
	}
	if len(sites) == 1 {
		a.outcomes[sites[0]] = a.kind.explain(err)
		return nil
	}
	half := len(sites) / 2
	if err := a.attachKernel(ctx, sites[:half]); err != nil {
		return err
	}
	return a.attachKernel(ctx, sites[half:])
}

// refusesKernelProgram is [refusesProgram] for kprobe_multi links: the kernel would otherwise find no
// function of this name.
func refusesKernelProgram(prog *ebpf.Program, session bool) bool {
	l, err := link.KprobeMulti(prog, link.KprobeMultiOptions{Symbols: []string{"no function"}, Session: session})
	if err == nil {
		l.Close()
	}
	return errors.Is(err, unix.EINVAL)
}
