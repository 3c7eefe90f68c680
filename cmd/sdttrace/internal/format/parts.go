package format

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Conditions and keys of programs compare arguments as they are, and people read texts that are
// made of several, or names as source has them. This file says so where the two may be mistaken
// for each other, and has --fields show the texts.

// lacking finds in an error that a probe lacks an argument, and lackingToo that another one lacks it as well.
var (
	lacking    = regexp.MustCompile(`([\w.-]+):([\w.-]+) has no argument (\w+)`)
	lackingToo = regexp.MustCompile(`has no argument (\w+), nor has ([\w.-]+):([\w.-]+)`)
)

// Lacking says of what a text is made whose name an error takes for that of an argument; empty
// for other errors.
func Lacking(table *prototype.Table, err error) string {
	for _, found := range lacking.FindAllStringSubmatch(err.Error(), -1) {
		if text := made(table, found[1], found[2], found[3]); text != "" {
			return text
		}
	}
	if found := lackingToo.FindStringSubmatch(err.Error()); found != nil {
		return made(table, found[2], found[3], found[1])
	}
	return ""
}

// made says of what a text of a probe is made; empty if it has no such text.
func made(table *prototype.Table, provider, probe, name string) string {
	says := named(table.Sayings(provider, probe), name)
	if len(says) == 0 {
		return ""
	}
	if needs := needsOf(says); needs != nil {
		return fmt.Sprintf("%s is a text that is made of %s: name these", name, strings.Join(needs, ", "))
	}
	for i := range says {
		for _, need := range says[i].Needs() {
			if other, arg, ok := strings.Cut(need, ":"); ok {
				return fmt.Sprintf("%s is %s of the last %s:%s of the same process, and no argument: print, snapshot and page show it if %[3]s:%[4]s is traced as well", name, arg, provider, other)
			}
		}
	}
	return ""
}

// quoted are the constants of a condition, which may have names in them.
var quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'")

// Unlike says which names in a condition stand for other text there than in what is shown of
// the probes of a plan.
func Unlike(table *prototype.Table, plan attach.Plan, condition string) (all []string) {
	names := regexp.MustCompile(`[A-Za-z_]\w*`).FindAllString(quoted.ReplaceAllString(condition, " "), -1)
	m := &Meanings{Table: table}
	for i := range plan {
		p := &plan[i].Probe
		known := m.prototype(p)
		if table == nil || known == nil {
			continue
		}
		for _, name := range names {
			text := ""
			if needs := needsOf(named(table.Sayings(p.Provider, p.Name), name)); slices.Contains(needs, name) {
				text = fmt.Sprintf("conditions compare %s alone, which is shown together with others: compare %s", name, strings.Join(needs, ", "))
			}
			if param := paramOf(known, name); param != nil && patterned(condition, name) {
				switch {
				case text != "":
				case param.Unit == "java":
					text = fmt.Sprintf("~ compares %s as the JVM has it, such as java/lang/String", name)
				case param.Unit == "cxx":
					text = fmt.Sprintf("~ compares %s as the compiler writes it, such as St13runtime_error", name)
				}
			}
			if text != "" && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// patterned reports whether a condition compares a name with a pattern.
func patterned(condition, name string) bool {
	ok, _ := regexp.MatchString(`\b`+name+`\s*~`, condition)
	return ok
}

// has returns why --fields cannot have a text of the probes of a plan; "" and true if it
// can, and false if they have none of this name.
func (m *Meanings) has(plan attach.Plan, name string) (why string, ok bool) {
	for i := range plan {
		p := &plan[i].Probe
		says := named(m.Table.Sayings(p.Provider, p.Name), name)
		if len(says) == 0 {
			continue
		}
		if ok = true; needsOf(says) != nil {
			return "", true
		}
		for _, need := range says[0].Needs() {
			probe, _, other := strings.Cut(need, ":")
			traced := func(s attach.Site) bool { return s.Probe.Provider == p.Provider && s.Probe.Name == probe }
			if why = ""; other && !slices.ContainsFunc(plan, traced) {
				why = made(m.Table, p.Provider, p.Name, name)
			}
		}
	}
	return why, ok
}

// texts returns the texts of an event that names stand for, unless that is an argument which
// readers of JSON have. It keeps what later events need.
func (m *Meanings) texts(ev *event.Event, names []string, readable bool) (texts []event.Arg) {
	raw := ev.Args
	m.Event(ev, readable)
	for _, name := range names {
		if a := argOf(ev.Args, name); a != nil && len(named(m.Table.Sayings(ev.Provider, ev.Name), name)) > 0 && (readable || argOf(raw, name) == nil) {
			texts = append(texts, *a)
		}
	}
	return texts
}

// Whole reports whether the fields of some probes need whole events, and the processes in which
// they fire: for texts, and what texts of other events need.
func (m *Meanings) Whole(f Fields, provider, probe string) bool {
	names := f.arguments()
	if m == nil || len(names) == 0 {
		return false
	}
	return len(m.Table.Said(provider, probe)) > 0 || slices.ContainsFunc(m.Table.Sayings(provider, probe), func(s prototype.Saying) bool { return slices.Contains(names, s.Name) })
}

// Apart reports whether what is kept of events of the probes of a selector has to be kept apart by
// process.
func (m *Meanings) Apart(f Fields, probe string) bool {
	s, err := selector.Parse(probe)
	return err == nil && s.Kind == reader.USDT && len(f.arguments()) > 0 &&
		(strings.Contains(s.Provider+s.Name, "*") || m.Whole(f, s.Provider, s.Name))
}
