package bind

import (
	"debug/elf"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
)

// variables returns the arguments of a note, and behind them the texts to which variables of the program
// point, as far as its file has their symbols.
func (b *Binder) variables(s *site.Site, args []notes.Arg, known *prototype.Prototype) ([]notes.Arg, *prototype.Prototype) {
	if known == nil && len(args) == 0 {
		known = &prototype.Prototype{} // no argument is all that is known of them
	}
	if known == nil || len(known.Params) != len(args) {
		return args, known
	}
	word := 8
	if s.Probe.Class == elf.ELFCLASS32 {
		word = 4
	}
	for _, v := range b.Prototypes.Variables(s.Probe.Provider, s.Probe.Name) {
		a := notes.Arg{Text: v.Symbol, Size: word, Kind: notes.Mem, Symbol: v.Symbol}
		obj, err := b.Objects.Open(s.Path)
		if err != nil {
			break
		}
		if _, err := obj.Symbols.Resolve(&a); err == nil {
			args, known = append(args[:len(args):len(args)], a), known.WithText(v.Name)
		}
	}
	return args, known
}
