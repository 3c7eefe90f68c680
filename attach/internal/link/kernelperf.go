package link

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cilium/ebpf"
)

// kernelEvents attaches by one perf event per function of the kernel. Attaching takes some 50 ms
// each, and detaching 0.2 s.
var kernelEvents = mechanism{name: "perf event on a kprobe", program: ebpf.Kprobe, attachment: ebpf.AttachNone, slow: true, attach: attachPerf, open: openOnKprobe}

// ErrNoKprobes is the error for kernels that do not let their functions be traced.
var ErrNoKprobes = fmt.Errorf("this kernel was built without kprobes (CONFIG_KPROBES): its functions cannot be traced, system calls and other events can (tracepoint:SYSTEM:EVENT): %w", ebpf.ErrNotSupported)

// kprobePMU returns the kernel's number for perf events on kprobes.
var kprobePMU = sync.OnceValues(func() (uint32, error) { return pmu("kprobe") })

func openOnKprobe(a *attempt, s *Site) (fd int, err error) { return a.calls.OpenKprobe(a.Group, s) }

// kprobes is the way to functions of the kernel.
var kprobes = way{choose: chooseKprobes, check: checkKprobes, programs: ebpf.Kprobe, sections: "kprobe and kprobe.multi"}

// chooseKprobes returns the kind of links to functions of the kernel that is like want.
func chooseKprobes(want Kind) (Kind, error) {
	if err := checkKprobes(); err != nil {
		return 0, err
	}
	if want != Auto {
		want += KernelMulti - Multi
	}
	return choose(want, KernelMulti, KernelPerf, false)
}

// checkKprobes returns ErrNoKprobes if the kernel has none.
func checkKprobes() error {
	_, err := kprobePMU()
	if errors.Is(err, os.ErrNotExist) {
		return ErrNoKprobes
	}
	return err
}
