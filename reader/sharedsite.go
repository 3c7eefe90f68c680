package reader

import (
	"maps"
	"slices"

	"github.com/go-usdt/usdt/notes"
)

// SharedSites returns the notes of locations that several notes share, by location. A linker
// makes them when it folds functions of equal code; no tracer can know then which of the
// probes has fired. Notes that cannot be read are left out.
func (f *File) SharedSites() map[uint64][]notes.Note {
	sections, err := f.notes()
	if err != nil {
		return nil
	}
	var all []uint64
	for _, s := range sections {
		all = slices.AppendSeq(all, notes.Locations(s, s.Size(), f.elf.ByteOrder, notes.Class(f.elf.Class)))
	}
	slices.Sort(all)
	shared := map[uint64][]notes.Note{}
	for i, location := range all {
		if i > 0 && location == all[i-1] {
			shared[location] = nil
		}
	}
	if len(shared) == 0 {
		return nil
	}
	for _, s := range sections {
		for n, err := range notes.Read(s, s.Size(), f.elf.ByteOrder, notes.Class(f.elf.Class)) {
			if known, ok := shared[n.Location]; ok && err == nil {
				shared[n.Location] = append(known, n)
			}
		}
	}
	return shared
}

// shared reports locations whose notes belong to different probes, or differ otherwise.
func (c *checker) shared() {
	all := c.f.SharedSites()
	for _, location := range slices.Sorted(maps.Keys(all)) {
		first, others := all[location][0], all[location][1:]
		said := map[string]bool{} // names
		for _, n := range others {
			switch name := n.Provider + ":" + n.Name; {
			case len(c.errs) > maxErrors:
				return
			case said[name]:
				continue
			case n.Provider != first.Provider || n.Name != first.Name:
				c.miss("every consumer", "%s:%s and %s:%s have one site, %#x: an event of either counts for both", first.Provider, first.Name, n.Provider, n.Name, location)
			case n.Args != first.Args || n.Semaphore != first.Semaphore:
				c.miss("every consumer", "%s:%s has two notes of one site, %#x, which differ: nobody can tell which of them an event has", n.Provider, n.Name, location)
			default:
				continue
			}
			said[n.Provider+":"+n.Name] = true
		}
	}
}
