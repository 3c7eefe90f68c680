package event

import (
	"time"

	"github.com/go-usdt/usdt/internal/decode/hook"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// Package internal/decode has these functions for the packages of this module, which know how
// records are laid out, and says what they do.
func init() {
	hook.NewDecoder = func(sites func(uint32) (*shape.Shape, *reader.Probe), wall func(uint64) time.Time) any {
		return newDecoder(sites, wall)
	}
	hook.SavedStack, hook.NamedStack = savedStackOf, namedStack
	hook.FirstCalls, hook.NamesOf, hook.DropUnmapped = firstCalls, namesOf, dropUnmapped
}
