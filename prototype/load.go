package prototype

import (
	"os"
	"path/filepath"
	"slices"
)

// None is the path that makes [Load] leave out all prototypes before it, also Known's.
const None = "none"

// Load returns the table that commands use: Known's, the machine's files, the user's
// files, and then the files at paths, of which later ones win. The machine's are
// /etc/usdt/*.probes; the user's are usdt/*.probes in the directory for configuration
// ($XDG_CONFIG_HOME, or ~/.config). If a path is [None], Load leaves out what comes before
// it.
func Load(paths ...string) (*Table, error) {
	all := Known()
	if none := lastIndex(paths, None); none >= 0 {
		all, paths = nil, paths[none+1:]
	} else {
		installed := configured("/etc")
		if dir, err := os.UserConfigDir(); err == nil {
			installed = append(installed, configured(dir)...)
		}
		paths = slices.Concat(installed, paths)
	}
	for _, path := range paths {
		t, err := ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = all.With(t)
	}
	return all, nil
}

// configured returns the files in a directory for configuration, in the order of their
// names.
func configured(dir string) []string {
	dir = filepath.Join(dir, "usdt")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none, in most cases
	}
	var files []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == suffix {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

func lastIndex(all []string, s string) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] == s {
			return i
		}
	}
	return -1
}
