package debian

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Root is a directory with the files of packages, of which no script has been run.
type Root struct{ dir string }

// Install downloads a package with all that it depends on into dir, an absolute path,
// unless that has been done before. The machine's own packages stay as they are.
func Install(dir, release, arch, name string) (Root, error) {
	r := Root{filepath.Join(dir, name)}
	if _, err := os.Stat(r.dir); err == nil {
		return r, nil
	}
	archive, err := Open(dir, release, arch)
	if err != nil {
		return r, err
	}
	if err := archive.Update(); err != nil {
		return r, err
	}
	if _, err := archive.run("apt-get", "install", "--yes", "--no-install-recommends", "--download-only", "-o", "Debug::NoLocking=1", name); err != nil {
		return r, err
	}
	debs, err := filepath.Glob(filepath.Join(dir, "archives", "*.deb"))
	if err != nil || len(debs) == 0 {
		return r, fmt.Errorf("apt-get install --download-only %s left no packages in %s", name, dir)
	}
	tmp, err := os.MkdirTemp(dir, "unpack")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(tmp)
	for _, deb := range debs {
		err := Extract(deb, tmp)
		os.Remove(deb)
		if err != nil {
			return r, err
		}
	}
	return r, os.Rename(tmp, r.dir)
}

// Command returns the words of a command that runs a program of the root, with its
// own loader and libraries. path is the program's within the root.
func (r Root) Command(path string) ([]string, error) {
	loaders, err := filepath.Glob(filepath.Join(r.dir, "usr/lib/*/ld-linux-*.so.*"))
	if err != nil || len(loaders) != 1 {
		return nil, fmt.Errorf("found the loaders %q in %s, want one", loaders, r.dir)
	}
	return slices.Concat(loaders, []string{"--library-path", filepath.Dir(loaders[0]), r.Path(path)}), nil
}

// Path returns where a file of the root is.
func (r Root) Path(path string) string { return filepath.Join(r.dir, path) }
