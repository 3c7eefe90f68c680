package reader

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// searches is the number of lookups by name that go through a whole symbol table.
// Further ones use an index: without it, a file of many symbols and many arguments
// that name some would take time proportional to the product of both.
const searches = 8

// Bounds on what hostile names cost: the bytes of a name that are hashed, the symbols
// with one hash that are compared, and the addresses that are returned.
const (
	maxHashed     = 256
	maxCandidates = 1024
	maxAddresses  = 8 // of an ambiguous symbol: enough to say so
)

// nameIndex finds symbols by name.
type nameIndex struct {
	seed    maphash.Seed
	entries []nameEntry // by hash
}

type nameEntry struct{ hash, symbol uint32 }

func (t *symtab) newNameIndex(symbols []symbol) *nameIndex {
	x := &nameIndex{seed: maphash.MakeSeed(), entries: make([]nameEntry, len(symbols))}
	for i := range symbols {
		x.entries[i] = nameEntry{x.hash(t.namePrefix(&symbols[i], maxHashed)), uint32(i)}
	}
	slices.SortFunc(x.entries, func(a, b nameEntry) int { return cmp.Compare(a.hash, b.hash) })
	return x
}

func (x *nameIndex) hash(name []byte) uint32 { return uint32(maphash.Bytes(x.seed, name)) }

// find returns the symbols that have the name, possibly among others.
func (x *nameIndex) find(name string) []uint32 {
	hash := x.hash([]byte(name[:min(len(name), maxHashed)]))
	i, _ := slices.BinarySearchFunc(x.entries, hash, func(e nameEntry, hash uint32) int { return cmp.Compare(e.hash, hash) })
	var out []uint32
	for ; i < len(x.entries) && x.entries[i].hash == hash && len(out) < maxCandidates; i++ {
		out = append(out, x.entries[i].symbol)
	}
	return out
}
