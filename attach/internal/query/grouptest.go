package query

import (
	"slices"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/container"
)

// GroupTest is a comparison of a word of control groups.
type GroupTest struct {
	Word    container.Word
	Prefix  int // bytes of the word that count; 0 for all
	Pattern filter.Pattern
}

// Equal reports whether two tests are the same.
func (t *GroupTest) Equal(o *GroupTest) bool {
	return t.Word == o.Word && t.Prefix == o.Prefix && slices.Equal(t.Pattern.Pieces, o.Pattern.Pieces)
}
