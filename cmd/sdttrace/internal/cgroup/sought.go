package cgroup

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-usdt/usdt/internal/container"
)

// Sought are groups that are selected by more than the directory of one, and need not be there yet.
type Sought struct {
	Selector container.Selector

	mu   sync.Mutex
	seen bool
}

// The limits of what is looked at, and listed.
const (
	maxGroups = 1 << 16
	maxListed = 10
)

// Missing says that no such group has been there until now, and which there are; empty if one was,
// or if nothing is sought.
func (s *Sought) Missing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen || s.Selector == (container.Selector{}) {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	there := map[string]bool{}
	left := maxGroups
	all := hierarchies(mounts)
	for _, h := range all {
		selector := s.Selector
		if below, ok := container.Below(h.mount, selector.Glob); ok && selector.Glob != "" {
			selector.Glob = below
		}
		s.seen = s.seen || s.walk(h.mount, selector, there, &left)
	}
	if s.seen {
		return ""
	}
	what, kind := s.words()
	names := make([]string, 0, len(there))
	for name := range there {
		names = append(names, name)
	}
	slices.Sort(names)
	switch n := len(names) - maxListed; {
	case kind == "":
		return fmt.Sprintf("there is no %s%s", what, instead(all, s.Selector.Glob))
	case len(names) == 0:
		return fmt.Sprintf("there is no %s, nor any other %s", what, kind)
	case n > 0:
		if near := nearest(cmp.Or(s.Selector.Container, s.Selector.Pod), names); len(near) > 0 {
			return fmt.Sprintf("there is no %s; near are %s", what, strings.Join(near, ", "))
		}
		names = append(names[:maxListed], fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("there is no %s; there are: %s", what, strings.Join(names, ", "))
}

// walk notes the groups of a hierarchy, and reports whether one is sought.
func (s *Sought) walk(root string, selector container.Selector, there map[string]bool, left *int) (seen bool) {
	// A directory that cannot be read, or is gone, has nothing to show.
	_ = filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if *left--; *left < 0 {
			return fs.SkipAll
		}
		group := path.Join("/", strings.TrimPrefix(dir, root))
		if seen, _ = selector.Match(group, container.Names{}); seen {
			return fs.SkipAll
		}
		of, _ := container.Names{}.Describe(group)
		name := of.Container
		if selector.Container == "" {
			name = of.Pod
		}
		if name != "" {
			there[name] = true
		}
		return nil
	})
	return seen
}

// words return what is sought, and of which kind the others are that are listed; none of patterns.
func (s *Sought) words() (what, kind string) {
	switch {
	case s.Selector.Container != "" && s.Selector.Pod != "":
		return fmt.Sprintf("container %s in pod %s", s.Selector.Container, s.Selector.Pod), "container"
	case s.Selector.Container != "":
		return "container " + s.Selector.Container, "container"
	case s.Selector.Pod != "":
		return "pod " + s.Selector.Pod, "pod"
	}
	return "control group " + s.Selector.Glob, ""
}

// Watch reports a while after the beginning that no such group has been there until now. The
// function that it returns ends the watch.
func (s *Sought) Watch(after time.Duration, report func(missing string)) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-stop:
		case <-time.After(after):
			if missing := s.Missing(); missing != "" {
				report(missing)
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}
