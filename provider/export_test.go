//go:build linux

package provider

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf/btf"
)

// Forget removes the provider with this name, so that New makes another.
func Forget(name string) {
	all.Lock()
	defer all.Unlock()
	delete(all.providers, name)
}

// Registered counts the known providers whose names begin with prefix.
func Registered(prefix string) (n int) {
	all.Lock()
	defer all.Unlock()
	for name := range all.providers {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// TracerTime is how long programs wait for their tracer.
var TracerTime = &tracerTime

// Watch adds n to every semaphore of p, as a kernel does when tracers attach.
func Watch(p *Provider, n int) { watch(p, n, func(string) bool { return true }) }

// WatchOne adds n to the semaphore of one probe.
func WatchOne(p *Provider, name string, n int) { watch(p, n, func(s string) bool { return s == name }) }

// WatchFirst adds n to the semaphore of the first probe with this name.
func WatchFirst(p *Provider, name string, n int) {
	first := true
	watch(p, n, func(s string) bool {
		is := s == name && first
		first = first && !is
		return is
	})
}

// WatchAll watches the probes of p that nobody watches yet.
func WatchAll(p *Provider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.objects {
		for _, d := range o.probes {
			atomic.CompareAndSwapUint32(d.counter, 0, 1)
		}
	}
}

func watch(p *Provider, n int, match func(name string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.objects {
		for _, d := range o.probes {
			if match(d.name) {
				atomic.AddUint32(d.semaphore().Counter(), uint32(n))
			}
		}
	}
}

// ReplaceWatched raises the semaphore of one probe and replaces all objects, as if a
// tracer had attached after the objects were found to be unwatched.
func ReplaceWatched(p *Provider, name string) error {
	WatchOne(p, name, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replace(&p.opts, slices.Clone(p.objects))
}

// Sites returns the addresses at which probes of p call their stubs.
func Sites(p *Provider) (sites []uintptr) {
	for _, o := range p.objects {
		for _, d := range o.probes {
			sites = append(sites, d.site)
		}
	}
	return sites
}

// Loaded returns how many objects p has, and how many probes are in them.
func Loaded(p *Provider) (objects, probes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.objects {
		probes += len(o.probes)
	}
	return len(p.objects), probes
}

// DescribeRecord returns the description of a record's type, as readers of BTF see
// it.
func DescribeRecord(t reflect.Type) (*btf.Struct, error) {
	sig, err := newRecordSignature(t)
	if err != nil {
		return nil, err
	}
	raw, err := marshalTypes([]*signature{sig})
	if err != nil {
		return nil, err
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	var s *btf.Struct
	return s, spec.TypeByName("usdt_args_0", &s)
}

// Objects returns the contents of the loaded objects, while none is replaced.
func Objects(p *Provider) (all [][]byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.objects {
		b, err := io.ReadAll(io.NewSectionReader(o.memory.backing(), 0, 1<<40))
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// CloseObjects closes the objects that have a probe with this name, also those of
// providers that the program no longer holds.
func CloseObjects(name string) error {
	var errs []error
	loaded.Lock()
	var objects []*object
	for _, o := range loaded.objects {
		if slices.ContainsFunc(o.probes, func(p loadedProbe) bool { return p.name == name }) {
			objects = append(objects, o)
		}
	}
	loaded.Unlock()
	for _, o := range objects {
		errs = append(errs, o.close())
	}
	return errors.Join(errs...)
}

// StaleAddresses lays out a string and bytes on the caller's stack and returns how
// many of their addresses do not lead to them.
func StaleAddresses(text string) int {
	var f frame
	var raw [8]byte
	bytes := raw[:]
	s := signature{args: []argument{{kind: kindString, slot: 0, lenSlot: 1}, {kind: kindBytes, slot: 2, lenSlot: 3}}}
	s.put(&f.Slot, &f, []unsafe.Pointer{unsafe.Pointer(&text), unsafe.Pointer(&bytes)})
	n := 0
	if f.Ptr[0] != unsafe.Pointer(&f.strings) {
		n++
	}
	if f.Ptr[2] != unsafe.Pointer(&raw) {
		n++
	}
	return n
}

// ProbeSize is the size in bytes of a probe.
const ProbeSize = unsafe.Sizeof(Probe6[int, int, int, int, int, int]{})

// Terminated returns what readers that look for a NUL find of a string that a watched
// Fire passes.
func Terminated(s string) string {
	var f frame
	var b []byte
	for at := f.terminated(s); *(*byte)(at) != 0; at = unsafe.Add(at, 1) {
		b = append(b, *(*byte)(at))
	}
	return string(b)
}

// Pending returns how many probes of p are still to be loaded.
func Pending(p *Provider) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending)
}
