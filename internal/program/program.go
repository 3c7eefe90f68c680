// Package program attaches BPF programs of this module's own to probes of a process.
package program

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/reader"
)

// AttachEmpty attaches a program that does nothing to a probe of a process.
func AttachEmpty(pid int, provider, name string) (*attach.Attachment, error) {
	probe, err := Find(pid, provider, name)
	if err != nil {
		return nil, err
	}
	return Attach(kernel.EmptyProgram(), []reader.Probe{*probe}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{pid}}})
}

// Attach attaches a program to probes. Kernels with uprobe_multi need
// a program loaded for it, others one for perf events.
func Attach(code asm.Instructions, probes []reader.Probe, opts *attach.ProgramOptions) (*attach.Attachment, error) {
	attachAs := func(typ ebpf.AttachType) (*attach.Attachment, error) {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: typ, License: kernel.License, Instructions: code})
		if err != nil {
			return nil, err
		}
		defer prog.Close() // the link keeps the program
		return attach.AttachProbes(prog, probes, opts)
	}
	multi, err := attachAs(ebpf.AttachTraceUprobeMulti)
	if err == nil {
		return multi, nil
	}
	if perf, perfErr := attachAs(ebpf.AttachNone); perfErr == nil {
		return perf, nil
	}
	return nil, err
}

// Find returns a probe of a process.
func Find(pid int, provider, name string) (*reader.Probe, error) {
	p, err := reader.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for probe, err := range p.Probes() {
		if err != nil {
			return nil, err
		}
		if probe.Provider == provider && probe.Name == name {
			return &probe, nil
		}
	}
	return nil, fmt.Errorf("process %d has no probe %s:%s", pid, provider, name)
}
