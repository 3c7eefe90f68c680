package selector

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries is how many directory entries one pattern of a path may be
// compared with.
const maxEntries = 1 << 18

// Files returns the regular files of this file system that a path with
// wildcards names. A '*' stands for part of one element here, as in shells. A
// directory that cannot be read has none. Files returns nil for a path without
// wildcards or without '/'.
func (s *Selector) Files() ([]string, error) {
	if s.path.tokens == nil || !strings.Contains(s.Path, "/") {
		return nil, nil
	}
	path := s.absolute.text
	dirs := []string{""}
	if !filepath.IsAbs(path) {
		dirs[0] = "."
	}
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	compared := 0
	for _, element := range elements {
		pattern, err := compile(element)
		if err != nil {
			return nil, fmt.Errorf("path %q: a wildcard cannot stand for '/': %w", s.Path, err)
		}
		var next []string
		for _, dir := range dirs {
			if pattern.tokens == nil {
				next = append(next, dir+"/"+pattern.literal)
				continue
			}
			entries, err := os.ReadDir(dir + "/")
			if err != nil {
				continue
			}
			if compared += len(entries); compared > maxEntries {
				return nil, fmt.Errorf("path %q may name more than %d files: name the directory more closely", s.Path, maxEntries)
			}
			for _, e := range entries {
				// As in shells, hidden files are named by a dot.
				hidden := strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(element, ".")
				if !hidden && pattern.match(e.Name()) {
					next = append(next, dir+"/"+e.Name())
				}
			}
		}
		dirs = next
	}
	var files []string
	for _, path := range dirs {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files, nil
}
