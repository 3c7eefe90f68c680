package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// Parts of events that are not arguments.
const (
	fieldTime  = "time"
	fieldComm  = "comm"
	fieldPID   = "pid"
	fieldTID   = "tid"
	fieldProbe = "probe"
	fieldArgs  = "args"

	fieldCgroup    = "cgroup"
	fieldContainer = "container"
	fieldPod       = "pod"
)

var FieldNames = []string{fieldTime, fieldComm, fieldPID, fieldTID, fieldCgroup, fieldContainer, fieldPod, fieldProbe, fieldArgs}

// Fields are the parts of events that --fields names, in its order: those above, and paths of
// arguments, as conditions have them. There are none without the flag.
type Fields []string

// CheckNames returns an error for names that are empty or given twice. It removes blanks around
// them.
func (f Fields) CheckNames() error {
	for i, name := range f {
		f[i] = strings.TrimSpace(name)
		switch {
		case f[i] == "":
			return errors.New("--fields has an empty name")
		case slices.Contains(f[:i], f[i]):
			return fmt.Errorf("--fields names %s twice", f[i])
		}
	}
	return nil
}

// Omit returns what events need not have.
func (f Fields) Omit(stack bool) (o attach.Omit) {
	if len(f) == 0 {
		return 0
	}
	if !slices.Contains(f, fieldTime) {
		o |= attach.OmitTime
	}
	if !slices.Contains(f, fieldComm) {
		o |= attach.OmitComm
	}
	if !slices.Contains(f, fieldPID) && !slices.Contains(f, fieldTID) && !stack {
		o |= attach.OmitProcess
	}
	return o
}

// isGroup reports whether a name is that of a word of control groups, unless an argument has it.
func isGroup(name string) bool {
	return name == fieldCgroup || name == fieldContainer || name == fieldPod
}

// isArgument reports whether field i of the event is an argument.
func (p *Picked) isArgument(i int, name string) bool {
	return !slices.Contains(FieldNames, name) || p.own && isGroup(name) && p.has[i]
}

// Groups reports whether events have to say in which control group they fired.
func (f Fields) Groups() bool {
	return slices.ContainsFunc(f, isGroup)
}

// arguments returns the arguments that are named.
func (f Fields) arguments() (names []string) {
	for _, name := range f {
		if !slices.Contains(FieldNames, name) {
			names = append(names, name)
		}
	}
	return names
}

// Checked is a session whose sites have arguments.
type Checked interface {
	CheckArgument(path string) error
	Plan() attach.Plan
}

// CheckPair is Check for pairs, which also have a latency.
func (f Fields) CheckPair(s Checked, m *Meanings) error {
	return Fields(slices.DeleteFunc(slices.Clone(f), func(name string) bool { return name == fieldLatency })).Check(s, m)
}

// fieldLatency is how long a pair took, an argument of pairs.
const fieldLatency = "latency"

// Check returns an error for an argument that none of the probes has which are known so far, and
// that is none of the texts that stand for several.
func (f Fields) Check(s Checked, m *Meanings) error {
	for _, path := range f.arguments() {
		if err := s.CheckArgument(path); err != nil {
			if why, ok := m.has(s.Plan(), path); why != "" {
				return fmt.Errorf("--fields: %s", why)
			} else if ok {
				continue
			}
			part := spelling.Nearly(path, FieldNames)
			if strings.Contains(err.Error(), spelling.NearestIs) { // an argument
				part = ""
			}
			return fmt.Errorf("--fields: %w%s", err, part)
		}
	}
	return nil
}

// Picked is what an event has of the fields.
type Picked struct {
	event.Event             // Args has all, if they are wanted
	named       []event.Arg // the named arguments that the event has
	has         []bool      // which, in the order of the fields
	own         bool        // an argument has the name of a word of control groups
}

// Pick reads the fields of an event, and replaces numbers by what they mean, as [Meanings.Event]
// does. It reuses the memory of p.
func (f Fields) Pick(v *event.View, p *Picked, m *Meanings, readable bool) (err error) {
	probe := v.Probe()
	p.Event = event.Event{
		Time: v.Time(), PID: v.PID(), TID: v.TID(), Comm: v.Comm(), Provider: probe.Provider, Name: probe.Name, Probe: probe, Stack: v.Stack(),
	}
	p.Cgroup, p.Container, p.Pod = v.Group()
	p.named, p.has, p.own = p.named[:0], p.has[:0], false
	var texts []event.Arg
	if m.Whole(f, probe.Provider, probe.Name) {
		whole, failed := v.Event()
		texts, err = m.texts(&whole, f, readable), failed
	}
	for _, name := range f {
		has := name == fieldArgs
		switch {
		case has:
			var all event.Event
			all, err = v.Event()
			p.Args = all.Args
		case !slices.Contains(FieldNames, name):
			var a event.Arg
			if text := argOf(texts, name); text != nil {
				a, has = *text, true
			} else {
				a, has = v.Argument(name)
			}
			if has {
				p.named = append(p.named, a)
			}
		case isGroup(name):
			var a event.Arg
			if a, has = v.Argument(name); has {
				p.named, p.own = append(p.named, a), true
			}
		}
		p.has = append(p.has, has)
	}
	p.explain(m, readable)
	return err
}

// explain replaces numbers by what they mean.
func (p *Picked) explain(m *Meanings, readable bool) {
	m.Event(&p.Event, readable)
	if readable {
		m.Event(&event.Event{Probe: p.Probe, PID: p.PID, Args: p.named}, readable)
	}
}

// appendText appends the line of an event, or nothing if the event has none of the fields. The
// numbers and the name of a thread stand together. The arguments of a nil record are one nil.
func (f Fields) appendText(dst []byte, p *Picked) []byte {
	named, begun, thread := p.named, false, false
	isNil, saidNil := event.Struct(p.Args).IsNil() || event.Struct(named).IsNil(), false
	for i, name := range f {
		argument := p.isArgument(i, name)
		if argument && !p.has[i] || name == fieldArgs && len(p.Args) == 0 {
			continue
		}
		ofRecord := isNil && (argument || name == fieldArgs)
		if ofRecord && saidNil {
			continue
		}
		ofThread := name == fieldComm || name == fieldPID || name == fieldTID
		switch {
		case !begun:
		case ofThread && thread:
			dst = append(dst, '/')
		default:
			dst = append(dst, ' ')
		}
		begun, thread = true, ofThread
		if ofRecord {
			dst, saidNil = append(dst, "nil"...), true
			continue
		}
		if argument {
			dst, named = appendNamed(dst, &named[0]), named[1:]
			continue
		}
		dst = appendField(dst, &p.Event, name)
	}
	if !begun && p.Stack == nil {
		return dst
	}
	return append(appendCalls(dst, &p.Event), '\n')
}

// appendField appends a part of an event.
func appendField(dst []byte, ev *event.Event, name string) []byte {
	switch name {
	case fieldTime:
		return appendTime(dst, ev.Time)
	case fieldComm:
		return printable.Append(dst, ev.Comm)
	case fieldPID:
		return appendPID(dst, ev.PID)
	case fieldTID:
		return appendPID(dst, ev.TID)
	case fieldCgroup:
		return printable.Append(dst, ev.Cgroup)
	case fieldContainer:
		return printable.Append(dst, cmp.Or(ev.Container, "-"))
	case fieldPod:
		return printable.Append(dst, cmp.Or(ev.Pod, "-"))
	case fieldProbe:
		return appendProbe(dst, ev)
	}
	return appendArgs(dst, ev.Args)
}

// appendJSON appends an object with the keys that were asked for, or nothing if the event has
// none of them.
func (f Fields) appendJSON(dst []byte, p *Picked) []byte {
	var keys event.Struct
	add := func(name string, value any) { keys = append(keys, event.Arg{Name: name, Value: value}) }
	args := event.Struct(p.named)
	for i, name := range f {
		if p.isArgument(i, name) {
			continue
		}
		switch name {
		case fieldTime:
			add(name, p.Time)
		case fieldComm:
			add(name, p.Comm)
		case fieldPID:
			add(name, idOrNil(p.PID))
		case fieldTID:
			add(name, idOrNil(p.TID))
		case fieldCgroup:
			add(name, p.Cgroup)
		case fieldContainer:
			add(name, p.Container)
		case fieldPod:
			add(name, p.Pod)
		case fieldProbe:
			add("provider", p.Provider)
			add("name", p.Name)
			if p.Probe != nil && p.Probe.Kind != reader.USDT {
				add("kind", p.Probe.Kind.String())
			}
		}
	}
	all := slices.Contains(f, fieldArgs)
	if all {
		args = slices.Clone(p.Args)
		for _, a := range p.named {
			if !slices.ContainsFunc(args, func(b event.Arg) bool { return a.Name == b.Name }) {
				args = append(args, a)
			}
		}
	}
	if all || len(args) > 0 {
		add("args", args)
	}
	if len(keys) == 0 && p.Stack == nil {
		return dst
	}
	dst = keys.AppendJSON(dst)
	dst = dst[:len(dst)-1]
	if errors := args.AppendErrors(nil); len(errors) > 0 {
		dst = append(append(dst, `,"errors":`...), errors...)
	}
	if p.Stack != nil {
		if len(keys) > 0 {
			dst = append(dst, ',')
		}
		dst = p.Stack.AppendJSON(append(dst, `"stack":`...))
		dst = p.Stack.AppendError(dst)
	}
	return append(dst, "}\n"...)
}

// idOrNil returns the number of a process or thread as JSON has it, nil if it has none.
func idOrNil(id int) any {
	if id == 0 {
		return nil
	}
	return int64(id)
}
