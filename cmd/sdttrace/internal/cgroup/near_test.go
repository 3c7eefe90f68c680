package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	groups := []string{"system.slice", "system.slice/myapp.service", "system.slice/postgresql@15-main.service", "user.slice", "kubepods/pod1/web-1", "kubepods/pod1/web-2", "kubepods/pod1/web-3", "kubepods/pod1/web-4"}
	for wrong, want := range map[string][]string{
		"myapp":               {"system.slice/myapp.service"},
		"system.slice/myap":   {"system.slice/myapp.service"},
		"system.slise/":       {"system.slice"},
		"nope/postgresql*":    {"system.slice/postgresql@15-main.service"},
		"web":                 {"kubepods/pod1/web-1", "kubepods/pod1/web-2", "kubepods/pod1/web-3"},
		"something/different": {},
		"/":                   {},
	} {
		if got := nearest(wrong, groups); !slices.Equal(got, want) {
			t.Errorf("near %s: got %q, want %q", wrong, got, want)
		}
	}
}

// TestInstead says one thing of however many hierarchies: what is near, or what names are like.
func TestInstead(t *testing.T) {
	root := t.TempDir()
	var all []hierarchy
	for _, name := range []string{"unified", "cpu", "memory"} {
		if err := os.MkdirAll(filepath.Join(root, name, "system.slice/myapp.service"), 0o755); err != nil {
			t.Fatal(err)
		}
		all = append(all, hierarchy{mount: filepath.Join(root, name)})
	}
	if got := instead(all, "myapp"); got != "; near are system.slice/myapp.service" {
		t.Errorf("got %q", got)
	}
	if got := instead(all, "zzz"); strings.Count(got, root) != 1 || !strings.HasPrefix(got, "; a group is named by its path below "+root+"/unified, ") {
		t.Errorf("got %q", got)
	}
}
