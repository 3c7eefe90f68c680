package collection

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/internal/privilege"
)

// kernelLink attaches a program to what its section names of the kernel, as libbpf's skeletons do.
type kernelLink func(prog *ebpf.Program, to string, cookie uint64) (link.Link, error)

func kprobe(prog *ebpf.Program, to string, cookie uint64) (link.Link, error) {
	function, offset, err := cutOffset(to)
	if err != nil {
		return nil, err
	}
	return link.Kprobe(function, prog, &link.KprobeOptions{Cookie: cookie, Offset: offset})
}

func kretprobe(prog *ebpf.Program, to string, cookie uint64) (link.Link, error) {
	return link.Kretprobe(to, prog, &link.KprobeOptions{Cookie: cookie})
}

// kprobes attaches to all functions whose names match, by one link.
func kprobes(prog *ebpf.Program, pattern string, cookie uint64) (link.Link, error) {
	many, err := functions(pattern, cookie)
	if err != nil {
		return nil, err
	}
	return link.KprobeMulti(prog, many)
}

func kretprobes(prog *ebpf.Program, pattern string, cookie uint64) (link.Link, error) {
	many, err := functions(pattern, cookie)
	if err != nil {
		return nil, err
	}
	return link.KretprobeMulti(prog, many)
}

func kprobeSessions(prog *ebpf.Program, pattern string, cookie uint64) (link.Link, error) {
	many, err := functions(pattern, cookie)
	if err != nil {
		return nil, err
	}
	many.Session = true
	return link.KprobeMulti(prog, many)
}

// ksyscall attaches to what the kernel makes of a system call's definition (include/linux/syscalls.h).
func ksyscall(prog *ebpf.Program, call string, cookie uint64) (link.Link, error) {
	return kprobe(prog, systemCall(call), cookie)
}

func kretsyscall(prog *ebpf.Program, call string, cookie uint64) (link.Link, error) {
	return kretprobe(prog, systemCall(call), cookie)
}

func systemCall(name string) string {
	return map[string]string{"amd64": "__x64_sys_", "arm64": "__arm64_sys_"}[runtime.GOARCH] + name
}

func tracepoint(prog *ebpf.Program, to string, cookie uint64) (link.Link, error) {
	group, name, ok := strings.Cut(to, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no tracepoint: want GROUP/NAME", to)
	}
	return link.Tracepoint(group, name, prog, &link.TracepointOptions{Cookie: cookie})
}

func rawTracepoint(prog *ebpf.Program, to string, _ uint64) (link.Link, error) {
	return link.AttachRawTracepoint(link.RawTracepointOptions{Name: to, Program: prog})
}

func tracing(prog *ebpf.Program, _ string, cookie uint64) (link.Link, error) {
	return link.AttachTracing(link.TracingOptions{Program: prog, Cookie: cookie})
}

// replacement attaches to the function of the program that it was loaded for.
func replacement(prog *ebpf.Program, _ string, _ uint64) (link.Link, error) {
	return link.AttachFreplace(nil, "", prog)
}

func lsm(prog *ebpf.Program, _ string, cookie uint64) (link.Link, error) {
	return link.AttachLSM(link.LSMOptions{Program: prog, Cookie: cookie})
}

// iterator makes an iterator, which the caller opens: see [Collection.Links].
func iterator(prog *ebpf.Program, _ string, _ uint64) (link.Link, error) {
	return link.AttachIter(link.IterOptions{Program: prog})
}

// cutOffset cuts FUNCTION+OFFSET.
func cutOffset(s string) (function string, offset uint64, err error) {
	function, number, ok := strings.Cut(s, "+")
	if !ok {
		return s, 0, nil
	}
	if offset, err = strconv.ParseUint(number, 0, 64); err != nil {
		return "", 0, fmt.Errorf("%q: want FUNCTION+OFFSET", s)
	}
	return function, offset, nil
}

// attachKernel attaches a program to what its section names of the kernel, until ctx is done.
func (c *Collection) attachKernel(ctx context.Context, p *program) error {
	c.using.RLock()
	defer c.using.RUnlock()
	if c.isClosed() {
		return errClosed
	}
	l, err := p.section.kernel(p.prog, p.section.selector, c.options.Cookie)
	if err != nil {
		return privilege.Explain("attach to "+p.section.selector, err)
	}
	c.detachKernel(p, nil)
	c.mu.Lock()
	p.link = l
	c.mu.Unlock()
	context.AfterFunc(ctx, func() { c.detachKernel(p, l) })
	return nil
}

// detachKernel closes the link of a program, if it has this one; any if only is nil.
func (c *Collection) detachKernel(p *program, only link.Link) error {
	c.mu.Lock()
	l := p.link
	if l == nil || only != nil && l != only {
		c.mu.Unlock()
		return nil
	}
	p.link = nil
	c.mu.Unlock()
	return l.Close()
}
