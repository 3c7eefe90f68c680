package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/printable"
)

// Complete completes the path of a control group, one directory at a time.
func Complete(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // without it there are no groups to offer
	dir, base := filepath.Split(prefix)
	var out []string
	for _, h := range hierarchies(mounts) {
		in := dir
		if !filepath.IsAbs(dir) {
			in = filepath.Join(h.mount, dir)
		}
		entries, _ := os.ReadDir(in)
		for _, e := range entries {
			if name := dir + e.Name() + "/"; e.IsDir() && strings.HasPrefix(e.Name(), base) && printable.IsName(e.Name()) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
