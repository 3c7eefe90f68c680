package provider

import (
	"os"

	"github.com/go-usdt/usdt/internal/stub"
)

// beginning says where in their pages an object's stubs and semaphores begin.
type beginning struct {
	stubs      uint64 // bytes that stay free before the stubs, a multiple of 16
	semaphores uint64 // the same before the semaphores
}

// beginningOf returns the beginning that follows from the contents of an object: from
// the site and from each probe's name, arguments and semaphore.
//
// A uprobe that Linux has leaked (see package shield) keeps the instruction that
// it replaced, and is found by every later file whose inode gets the same
// address, at the same offset. So objects of different contents should have no
// offset in common. Where two have one nevertheless, the semaphore of that site
// has the same offset, too, if both have their stubs in the same page and no
// groups: the kernel compares it, and refuses a tracer else
// (kernel/events/uprobes.c: alloc_uprobe).
//
// The stubs stay within as many pages as they need anyway, since the semaphores
// come behind them.
func beginningOf(provider string, code stub.Code, probes []*probe, slots []uint32) beginning {
	h := fnv1a(fnvOffset, code.Bytes)
	h = fnv1a(h, provider)
	for i, p := range probes {
		h = fnv1a(h, order.AppendUint32([]byte{0}, slots[i]))
		h = fnv1a(h, p.name)
		h = fnv1a(h, " ")
		h = fnv1a(h, p.sig.note)
	}
	page := uint64(os.Getpagesize())
	free := -(uint64(len(probes)) * code.Stride) % page // in the last page of the stubs
	stubs := h % (free/stubAlign + 1) * stubAlign
	return beginning{stubs: stubs, semaphores: stubs / code.Stride * semaphoreSize}
}

// stubAlign is a multiple of every stride, so that stubs never cross a page.
const stubAlign = 16

// The numbers of FNV-1a of 64 bits (draft-eastlake-fnv, section 5). Package hash/fnv
// takes bytes, of which each string would have to be made.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnv1a returns the hash of what h is the hash of, followed by s.
func fnv1a[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
