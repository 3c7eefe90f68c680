package tally

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// OtherKey returns the key, of so many bytes, of the group in which the least used ones are
// added up. No event has it: numbers of processes and probes, marks, and the ends of texts
// and names are never all ones.
func OtherKey(size int) string { return strings.Repeat("\xff", size) }

// Fold adds up all groups but the most used ones in the group of OtherKey. If groups are used
// equally, the ones whose keys come first stay. places are as in [query.Merge].
func Fold(groups map[string][]uint64, most int, places []query.Place) {
	if len(groups) <= most {
		return
	}
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	other := OtherKey(len(keys[0]))
	if groups[other] != nil {
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == other })
	}
	if len(keys) <= most {
		return
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[b][query.WordCount], groups[a][query.WordCount]), strings.Compare(a, b))
	})
	for _, key := range keys[most:] {
		words := groups[key]
		if sum := groups[other]; sum == nil {
			groups[other] = words
		} else {
			query.Merge(sum, words, places)
		}
		delete(groups, key)
	}
}
