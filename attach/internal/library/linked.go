package library

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// maxLinked is how many libraries of a program are looked for, more than any has.
const maxLinked = 4096

// Linked returns the paths of a program and of the libraries that it is linked
// with, as the dynamic linker would find them with this process's directory and without
// LD_LIBRARY_PATH.
func Linked(program string) []string {
	paths := []string{resolved(program)}
	var cache linkerCache
	var inherited []string // DT_RPATH of the program
	for i := 0; i < len(paths) && len(paths) < maxLinked; i++ {
		file, err := procfs.OpenFile(paths[i])
		if err != nil {
			continue
		}
		f, err := safeelf.NewFile(file)
		if err == nil {
			dirs := append(runPaths(f, elf.DT_RUNPATH, paths[i]), runPaths(f, elf.DT_RPATH, paths[i])...)
			if i == 0 {
				inherited = dirs
			}
			for _, name := range f.Dynamic(elf.DT_NEEDED) {
				for _, path := range find(&cache, name, append(dirs, inherited...)) {
					if path = resolved(path); !slices.Contains(paths, path) {
						paths = append(paths, path)
					}
				}
			}
		}
		file.Close()
	}
	return paths
}

// runPaths returns the directories in which an object's libraries are.
func runPaths(f *safeelf.File, tag elf.DynTag, path string) (dirs []string) {
	for _, list := range f.Dynamic(tag) {
		list = strings.ReplaceAll(list, "${ORIGIN}", filepath.Dir(path))
		dirs = append(dirs, filepath.SplitList(strings.ReplaceAll(list, "$ORIGIN", filepath.Dir(path)))...)
	}
	return dirs
}

// find returns where a library may be.
func find(cache *linkerCache, name string, dirs []string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := procfs.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path}
		}
	}
	return cache.libraries(name)
}

// resolved returns a path without symbolic links, if there is a file.
func resolved(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if target, err := procfs.EvalSymlinks(path); err == nil {
		path = target
	}
	return path
}
