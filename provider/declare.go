package provider

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/tap"
)

// handle is what every type of probe is. Its semaphore lies in front of the embedded part,
// not in it: there it would make Fire too large to be inlined.
type handle struct {
	sem stub.Semaphore
	probe
}

// probe is the part of a probe that does not depend on its argument types.
type probe struct {
	_     [0]func() // without a function that compares two
	name  string
	sig   *signature // nil if the declaration was wrong
	group *Group     // whose provider lives as long as its probes do
	next  *probe     // of the same name in another group, or with another signature

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
	for c := f.long; c != nil; {
		next := c.next
		longCopies.Put(c)
		c = next
	}
}

// passOthers passes what fires to local tracers and listeners. It reports whether
// tracers of the kernel also want it.
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

// semaphore returns the probe's semaphore. (A pointer to it would be the word that makes a
// probe of 64 bytes one of 80.)
func (p *probe) semaphore() *stub.Semaphore {
	return (*stub.Semaphore)(unsafe.Add(unsafe.Pointer(p), -int(unsafe.Offsetof(handle{}.probe))))
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

// declare returns the probe whose arguments travel in slots, a *handle, which every type of
// probe is. A declaration that is wrong becomes an error that each Load reports, and a
// probe that does nothing. Neither declare nor its callers, NewProbe0 …, may be inlined,
// because the recorded place is the address that they return to.
//
//go:noinline
func declare(in Scope, name string, names []string, kinds ...kind) unsafe.Pointer {
	return declareAt(sourceLine(stub.Caller(1)), in, name, names, kinds, nil, nil)
}

// declareRecord is declare for a struct type.
//
//go:noinline
func declareRecord(in Scope, name string, t reflect.Type) unsafe.Pointer {
	return declareAt(sourceLine(stub.Caller(1)), in, name, nil, nil, t, (*Provider).recordSignature)
}

// signRecord is recordSignature. Programs without records are spared its code, which weighs
// more than the rest of this package.
type signRecord func(*Provider, reflect.Type) (*signature, error)

// declareAt returns the probe's first word, behind which lies a probe of any type: all of
// them begin alike.
func declareAt(at sourceLine, in Scope, name string, names []string, kinds []kind, record reflect.Type, sign signRecord) unsafe.Pointer {
	g := scopeOf(in)
	if g == nil {
		return orphan(name, at)
	}
	pr, late := g.probe(at, name, names, kinds, record, sign)
	if late {
		g.provider.publishLate()
	}
	return unsafe.Pointer(pr.semaphore())
}

// probe returns the group's probe with a name and arguments, the same one each time. late
// reports that the caller has to publish it.
func (g *Group) probe(at sourceLine, name string, names []string, kinds []kind, record reflect.Type, sign signRecord) (pr *probe, late bool) {
	p := g.provider
	p.mu.Lock()
	defer p.mu.Unlock()
	var sig *signature
	var err error
	if sign != nil {
		sig, err = sign(p, record)
	} else {
		sig, err = p.signature(names, kinds)
	}
	for pr = p.probes[name]; pr != nil; pr = pr.next {
		if pr.sig == sig && pr.group == g {
			return pr, false
		}
	}
	pr = &(&handle{probe: probe{name: name, sig: sig, group: g}}).probe
	if bad := checkName("probe", name, maxProbeName); bad != nil {
		err = bad
	}
	p.wrong.forgive(name)
	if err != nil {
		p.wrong.add(name, at, errorf("declare probe %s:%s at %v: %w", p.name, name, at, err))
		return pr, false
	}
	pr.next = p.probes[name]
	p.probes[name] = pr
	pr.attach(nil)
	p.pending = append(p.pending, pr)
	return pr, p.live && p.mustPublish()
}

// compareProbes orders the probes of a provider, of which no two are equal.
func compareProbes(a, b *probe) int {
	c := strings.Compare(a.name, b.name)
	if c == 0 {
		c = strings.Compare(a.sig.key, b.sig.key)
	}
	if c == 0 {
		c = strings.Compare(a.group.name, b.group.name)
	}
	return c
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

// Lengths of the longest names from which perf can make an event: its group
// "sdt_PROVIDER" and its event NAME have 63 bytes each (include/linux/trace_events.h
// and kernel/trace/trace.h: MAX_EVENT_NAME_LEN 64, with the NUL).
const (
	maxProviderName = 63 - len("sdt_")
	maxProbeName    = 63
	maxArgName      = 63
)

// checkName returns an error if tools could not handle the name: perf, bpftrace and C
// want identifiers.
func checkName(what, name string, limit int) error {
	switch {
	case name == "":
		return errorf("%s name is empty", what)
	case len(name) > limit:
		return errorf("%s name %q has %d bytes, and perf accepts at most %d", what, name, len(name), limit)
	case !isIdentifier(name):
		return errorf("%s name %q is not a C identifier (letters, digits and _, no digit first)", what, name)
	}
	return nil
}

func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		digit := '0' <= c && c <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return true
}

// checkArgNames returns an error unless names can be the names of n arguments.
func checkArgNames(names []string, n int) error {
	if len(names) != n {
		return errorf("%d argument names for %d arguments", len(names), n)
	}
	errs := make([]error, n)
	for i, name := range names {
		errs[i] = checkArgName(name, names[:i])
	}
	return join(errs...)
}

// checkArgName returns an error if name cannot be an argument's behind the others.
func checkArgName(name string, others []string) error {
	if err := checkName("argument", name, maxArgName); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(name, "__"):
		return errorf("argument name %q begins with __, which marks hidden fields", name)
	case cKeywords[name]:
		return errorf("argument name %q is a keyword of C, so no BPF program in C could name it", name)
	case slices.Contains(others, name):
		return errorf("argument name %q is used twice", name)
	}
	return nil
}

// cKeywords are the keywords of C11 that are identifiers without a leading
// underscore (ISO/IEC 9899:2011, 6.4.1), and the keywords that compilers add by default.
var cKeywords = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range []string{
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
		"extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
		"short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
		"volatile", "while",
		"asm", "typeof", // of GNU C, which clang compiles by default
	} {
		m[k] = true
	}
	return m
}()
