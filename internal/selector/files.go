package selector

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
)

// maxEntries is the largest number of directory entries with which one pattern of a
// path is compared.
const maxEntries = 1 << 18

// Files returns the regular files of this file system that a path with wildcards
// names. As in shells, a '*' stands for part of one element. A directory that cannot
// be read counts as empty. Files returns nil for a path without wildcards or without
// '/'.
func (s *Selector) Files() ([]string, error) {
	if s.path.tokens == nil || !strings.Contains(s.Path, "/") {
		return nil, nil
	}
	paths, err := braces(s.absolute.source)
	if err != nil {
		return nil, err
	}
	var all []string
	compared := 0
	for _, path := range paths {
		files, err := s.filesAt(path, &compared)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// filesAt is Files for a path without braces.
func (s *Selector) filesAt(path string, compared *int) ([]string, error) {
	dirs := []string{""}
	if !filepath.IsAbs(path) {
		dirs[0] = "."
	}
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
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
			entries, err := procfs.ReadDir(dir + "/")
			if err != nil {
				continue
			}
			if *compared += len(entries); *compared > maxEntries {
				return nil, fmt.Errorf("path %q may match more than %d files: name the directory more precisely", s.Path, maxEntries)
			}
			for _, e := range entries {
				// As in shells, only a pattern with a dot names hidden files.
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
		if info, err := procfs.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files, nil
}
