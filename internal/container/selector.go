package container

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Selector selects control groups by their paths. Empty fields select all.
type Selector struct {
	Glob      string // of the whole path
	Container string // the name, also a glob, or at least 12 digits of the identifier
	Pod       string // NAMESPACE/NAME, each also a glob, or the UID
}

// IsGlob reports whether a path has characters that stand for others.
func IsGlob(path string) bool { return strings.ContainsAny(path, "*?[") }

var digits = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// Check returns what is wrong with a selector.
func (s *Selector) Check() error {
	for _, p := range []string{s.Glob, s.Container, s.Pod} {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	if s.Pod != "" && strings.Count(s.Pod, "/") != 1 && !podUID.MatchString("pod"+s.Pod) {
		return fmt.Errorf("%q is neither NAMESPACE/NAME of a pod nor its UID", s.Pod)
	}
	if s.Pod == "/" || strings.HasPrefix(s.Pod, "/") || strings.HasSuffix(s.Pod, "/") {
		return errors.New("a pod is named NAMESPACE/NAME; * stands for any")
	}
	return nil
}

// Match reports whether a group is selected. Groups below it are as well. unsure says that names
// which come later may change the answer.
func (s *Selector) Match(group string, names Names) (match, unsure bool) {
	if s.Glob != "" {
		if ok, _ := path.Match(path.Join("/", s.Glob), group); !ok {
			return false, false
		}
	}
	if s.Container == "" && s.Pod == "" {
		return s.Glob != "", false
	}
	of := Parse(group)
	if s.Pod != "" {
		if match, unsure = s.pod(of.Pod, names); !match {
			return false, unsure
		}
	}
	if s.Container != "" {
		return s.container(of.ID, names)
	}
	return true, false
}

func (s *Selector) pod(uid string, names Names) (match, unsure bool) {
	switch {
	case uid == "":
		return false, false
	case !strings.Contains(s.Pod, "/"):
		return uid == s.Pod, false
	}
	name := names.Pod(uid)
	match, _ = path.Match(s.Pod, name)
	return match, name == ""
}

func (s *Selector) container(id string, names Names) (match, unsure bool) {
	switch {
	case id == "":
		return false, false
	case digits.MatchString(s.Container) && strings.HasPrefix(id, s.Container):
		return true, false
	}
	all := names.Container(id)
	if !identifier.MatchString(id) {
		all = append(all, id) // systemd-nspawn
	}
	for _, name := range all {
		if ok, _ := path.Match(s.Container, name); ok {
			return true, false
		}
	}
	return false, len(all) == 0
}

// Within reports whether a group, or one above it, is selected.
func (s *Selector) Within(group string, names Names) bool {
	for ; group != "/" && group != "." && group != ""; group = path.Dir(group) {
		if ok, _ := s.Match(group, names); ok {
			return true
		}
	}
	return false
}
