package cgroup

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/spelling"
)

// maxNear is how many names are offered in the place of a wrong one.
const maxNear = 3

// instead says which groups the name of none may have been meant for or, if no name is near, where groups
// have their names from.
func instead(all []hierarchy, name string) string {
	var groups []string
	left := maxGroups
	for _, h := range all {
		groups = append(groups, below(h.mount, &left)...)
	}
	if near := nearest(name, groups); len(near) > 0 {
		return "; near are " + strings.Join(near, ", ")
	}
	return "; a group is named by its path below " + all[0].mount + ", such as system.slice/myapp.service"
}

// below returns the paths of the groups of a hierarchy, as users name them.
func below(root string, left *int) (groups []string) {
	// A directory that cannot be read, or is gone, has nothing to offer.
	_ = filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || dir == root {
			return nil
		}
		if *left--; *left < 0 {
			return fs.SkipAll
		}
		groups = append(groups, strings.TrimPrefix(dir, root+"/"))
		return nil
	})
	return groups
}

// nearest returns the names that a wrong one may have been meant for, the nearest first: its last part, a
// pattern's without stars, is in theirs, or as good as theirs.
func nearest(wrong string, names []string) []string {
	sought := strings.ToLower(strings.Trim(path.Base(strings.TrimRight(wrong, "/*?")), "*?"))
	limit := len(sought) / 3
	distance := map[string]int{}
	for _, name := range names {
		base := strings.ToLower(path.Base(name))
		d := min(spelling.Edits(sought, base, limit), spelling.Edits(sought, strings.TrimSuffix(base, path.Ext(base)), limit))
		if len(sought) > 2 && strings.Contains(base, sought) {
			d = 0
		}
		if d <= limit {
			distance[name] = d
		}
	}
	near := make([]string, 0, len(distance))
	for name := range distance {
		near = append(near, name)
	}
	slices.SortFunc(near, func(a, b string) int { return cmp.Or(distance[a]-distance[b], len(a)-len(b), cmp.Compare(a, b)) })
	return near[:min(len(near), maxNear)]
}
