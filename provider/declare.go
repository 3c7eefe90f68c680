package provider

import (
	"sync/atomic"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/tap"
)

// probe is the part of a probe that does not depend on its argument types. The
// semaphore lies in front of it in the same value, not in it: in an embedded struct it
// would make Fire too large to be inlined.
type probe struct {
	_        [0]func() // without a function that compares two
	name     string
	sig      *signature // nil if the declaration was wrong
	group    *Group     // whose provider lives as long as its probes do
	declared sourceLine

	site  uintptr        // address of the stub; 0 while not loaded
	local unsafe.Pointer // *watcher: the first of the local tracers' interests; nil for none
}

// pass passes what fires to all who watch: first to local tracers and listeners, then
// through the stub to tracers of the kernel. args are pointers to the arguments.
func (p *probe) pass(args []unsafe.Pointer) {
	if p.others() && !p.passOthers(args) {
		return
	}
	sig := p.sig
	if sig.addresses == 0 {
		var slots [stub.Slots]uint64
		sig.put(&slots, nil, args)
		stub.CallSlots(&p.site, &slots)
		return
	}
	var f frame
	sig.put(&f.Slot, &f, args)
	stub.Call(&p.site, &f.Block, sig.addresses)
	if f.long != nil {
		f.release()
	}
}

// passOthers passes what fires to local tracers and listeners. It reports whether
// tracers of the kernel want it, too.
//
//go:noinline
func (p *probe) passOthers(args []unsafe.Pointer) bool {
	if w := p.watchers(); w != nil {
		w.pass(p.sig, args)
		if !p.kernel() {
			return false
		}
	}
	if p.tapped() {
		p.tap(args)
	}
	return true
}

// callOthersAt is like passOthers, for a record.
//
//go:noinline
func (p *probe) callOthersAt(record unsafe.Pointer) bool {
	if w := p.watchers(); w != nil {
		w.passRecord(p.sig, record, p.sig.ipv4)
		if !p.kernel() {
			return false
		}
	}
	if p.tapped() {
		p.callTaps(tap.Record(noescape(record), p.sig.ipv4))
	}
	return true
}

// semaphore returns the probe's semaphore. Each type of probe has it right in front of
// the embedded part. (A pointer to it would be the word that makes a probe of 64 bytes
// one of 80.)
func (p *probe) semaphore() *stub.Semaphore {
	return (*stub.Semaphore)(unsafe.Add(unsafe.Pointer(p), -int(unsafe.Sizeof(stub.Semaphore(0)))))
}

// others reports whether somebody else than tracers of the kernel watches the probe, or
// its group: the kernel counts in the low 16 bits of the semaphore.
func (p *probe) others() bool { return atomic.LoadUint32(p.semaphore().Counter())&^0xffff != 0 }

// kernel reports whether somebody else than local tracers watches the probe, or its
// group.
func (p *probe) kernel() bool { return uint16(atomic.LoadUint32(p.semaphore().Counter())) != 0 }

// scopeOf returns the group in which probes are declared, nil if there is none.
func scopeOf(in Scope) *Group {
	if in == nil {
		return nil
	}
	return in.scope()
}

// declare adds a probe to its provider, or an error that each Load reports. It calls
// sign for the probe's signature while the provider is locked. Neither declare nor
// its callers, NewProbe0 …, may be inlined, because the recorded place is the address
// that they return to.
//
//go:noinline
func declare(in Scope, pr *probe, name string, sign func(*Provider) (*signature, error)) {
	at := sourceLine(stub.Caller(1))
	g := scopeOf(in)
	if g == nil {
		orphan(name, at)
		return
	}
	p := g.provider
	p.mu.Lock()
	defer p.mu.Unlock()
	sig, err := sign(p)
	pr.name, pr.sig, pr.group, pr.declared = name, sig, g, at
	if bad := checkName("probe", name, maxProbeName); bad != nil {
		err = bad
	}
	p.wrong.forgive(name)
	if old := p.probes[name]; err == nil && old != nil {
		err = errorf("it is declared already at %v", old.declared)
	}
	if err != nil {
		p.wrong.add(name, at, errorf("declare probe %s:%s at %v: %w", p.name, name, at, err))
		return
	}
	p.probes[name] = pr
	pr.attach(nil)
	p.pending = append(p.pending, pr)
	if old := p.earlier[name]; old != nil {
		old.semaphore().Attach(nil) // also if it was tapped
		p.earlier[name] = nil
	}
}

// slots returns the function that makes the signature of a probe whose arguments
// travel in slots.
func slots(names []string, kinds ...kind) func(*Provider) (*signature, error) {
	return func(p *Provider) (*signature, error) { return p.signature(names, kinds) }
}

// signature returns the signature for these names and kinds. Equal lists share one.
func (p *Provider) signature(names []string, kinds []kind) (*signature, error) {
	var buf [128]byte
	key := buf[:0]
	for i, n := range names[:min(len(names), len(kinds))] {
		key = append(append(append(key, n...), 0), byte(kinds[i]))
	}
	if s := p.signatures[string(key)]; s != nil {
		return s, nil
	}
	if err := checkArgNames(names, len(kinds)); err != nil {
		return nil, err
	}
	s := newSignature(string(key), names, kinds)
	p.signatures[s.key] = s
	return s, nil
}
