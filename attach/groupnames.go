package attach

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/privilege"
)

// groupKeys are the names that mean the task's control group.
var groupKeys = map[string]container.Word{}

func init() {
	for _, k := range query.TaskKeys {
		if k.Group != 0 {
			groupKeys[k.Name] = k.Group
		}
	}
}

// asksGroups reports whether anything asks for the control groups in which probes fire.
func (o *settings) asksGroups(layout *bind.Layout) bool {
	names := slices.Clone(o.keys)
	if layout != nil {
		names = append(names, layout.Wanted.By...)
		if layout.Pairs != nil {
			names = append(names, layout.Pairs.Key...)
		}
	}
	for _, e := range []*filter.Expr{o.condition, o.on} {
		if e != nil {
			names = append(names, e.Names()...)
		}
	}
	return o.Groups || slices.ContainsFunc(names, func(name string) bool { return groupKeys[name] != 0 })
}

// openGroups begins to name the control groups in which probes fire, if anything asks for them. A
// file has them where the kernel says what they are.
func (t *tracing) openGroups(o *settings, layout *bind.Layout) error {
	if t.programs == nil {
		return nil
	}
	asks := o.asksGroups(layout)
	if !asks && !o.keep {
		return nil
	}
	var tests []cgroups.Test
	if o.condition != nil {
		t.groupTests = groupTests(o.condition)
	}
	if len(t.groupTests) > cgroups.MaxTests {
		return &OptionError{"Where", &WhereError{Where: o.Where, Column: 1, Msg: fmt.Sprintf("it compares control groups, containers and pods with more than %d texts", cgroups.MaxTests)}}
	}
	for _, test := range t.groupTests {
		tests = append(tests, cgroups.Test{Word: test.Word, Holds: func(text string) bool {
			if test.Prefix > 0 {
				text = text[:min(test.Prefix, len(text))]
			}
			return test.Pattern.Holds(text)
		}})
	}
	live, err := cgroups.Name(container.Names{}, tests)
	switch {
	case err == nil:
		t.live, t.groups = live, live.Table
	case asks:
		return privilege.Explain("name control groups", err)
	}
	return nil
}

// groupTests returns the comparisons of words of control groups in a condition, each once.
func groupTests(condition *filter.Expr) (tests []query.GroupTest) {
	var names []string
	for name := range groupKeys {
		names = append(names, name)
	}
	for _, c := range condition.TextTests(names) {
		test := query.GroupTest{Word: groupKeys[c.Name], Prefix: c.Prefix, Pattern: c.Pattern}
		if !slices.ContainsFunc(tests, func(t query.GroupTest) bool { return t.Equal(&test) }) {
			tests = append(tests, test)
		}
	}
	return tests
}

// groupWords returns what is known of a control group. One that is not known yet is looked for.
func (t *tracing) groupWords(id uint64) (cgroup, container, pod string) {
	g, known := t.groups.Of(id)
	if !known && t.live.Refresh() == nil {
		g, known = t.groups.Of(id)
	}
	if !known {
		g.Path = t.groups.Text(id, 1)
	}
	return g.Path, g.Container, g.Pod
}

// knownGroup returns what finds control groups for a file; nil if nothing names them.
func (t *tracing) knownGroup() func(id uint64) (container.Group, bool) {
	if t.groups == nil {
		return nil
	}
	return func(id uint64) (container.Group, bool) {
		g, known := t.groups.Of(id)
		if !known && t.live.Refresh() == nil {
			g, known = t.groups.Of(id)
		}
		return g, known
	}
}

// namer returns what names control groups; nil if nothing does.
func (t *tracing) namer() query.Groups {
	if t.groups == nil {
		return nil
	}
	return t.groups
}
