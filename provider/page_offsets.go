package provider

import (
	"os"

	"github.com/go-usdt/usdt/internal/stub"
)

// beginning says where the stubs and semaphores of an object begin in their pages.
type beginning struct {
	stubs      uint64 // bytes that stay free before the stubs, a multiple of 16
	semaphores uint64 // bytes that stay free before the semaphores
}

// beginningOf derives the beginning from the contents of an object: from the site and
// from each probe's name, arguments and semaphore.
//
// A uprobe that Linux has leaked (see package shield) keeps the instruction that it
// replaced. Every later file whose inode gets the same address finds this uprobe at
// the same offset. So objects of different contents should have no offset in common.
// Two objects may share the offset of a site all the same. If both have their stubs
// in one page and no groups, the semaphores of that site then also share an offset: the kernel
// compares it and would refuse a tracer if it differed (kernel/events/uprobes.c: alloc_uprobe).
//
// The stubs take no more pages than they need, since the semaphores come behind them.
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

// Constants of 64-bit FNV-1a (draft-eastlake-fnv, section 5). Package hash/fnv takes
// only bytes, so that each string would have to be converted.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnv1a continues the hash h with s.
func fnv1a[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
