package tracefile

import (
	"os"
	"slices"
)

// Distinct returns paths without the ones of a file that another path before leads to: its events would
// be counted twice. A path that cannot be looked at stays.
func Distinct(paths []string) (distinct []string) {
	var known []os.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil && slices.Contains(distinct, path):
			continue
		case err == nil && slices.ContainsFunc(known, func(other os.FileInfo) bool { return os.SameFile(info, other) }):
			continue
		case err == nil:
			known = append(known, info)
		}
		distinct = append(distinct, path)
	}
	return distinct
}
