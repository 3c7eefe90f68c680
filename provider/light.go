package provider

import (
	"errors"
	"fmt"
	"slices"
)

// Inlining errors.Join and fmt.Errorf into all their callers here would add 12 kB to
// each service that declares probes.

//go:noinline
func join(errs ...error) error { return errors.Join(errs...) }

//go:noinline
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// sortFunc sorts a list and keeps the order of equal elements. An instance of
// slices.SortFunc would add 11 kB to each service that declares probes.
// slices.SortStableFunc is small, but does without additional memory, for which 100,000
// probes would wait three times as long.
func sortFunc[E any](list []E, compare func(a, b E) int) {
	if !slices.IsSortedFunc(list, compare) { // probes are often declared in order
		mergeSort(list, slices.Clone(list), compare)
	}
}

// remove is slices.DeleteFunc, whose instances differ for each type of pointers.
func remove[E any](list []E, from func(E) bool) []E {
	kept := list[:0]
	for _, e := range list {
		if !from(e) {
			kept = append(kept, e)
		}
	}
	clear(list[len(kept):])
	return kept
}

// mergeSort sorts list. other is a copy of list, whose contents are lost.
func mergeSort[E any](list, other []E, compare func(a, b E) int) {
	if len(list) < 2 {
		return
	}
	half := len(list) / 2
	a, b := other[:half], other[half:]
	mergeSort(a, list[:half], compare)
	mergeSort(b, list[half:], compare)
	for i := range list {
		if len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) <= 0 {
			list[i], a = a[0], a[1:]
		} else {
			list[i], b = b[0], b[1:]
		}
	}
}
