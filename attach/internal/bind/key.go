package bind

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// KeyStrings returns the arguments of untyped probes that are text because of how keys use
// them.
func KeyStrings(keys []string) (args []StringArg) {
	for _, text := range keys {
		k, err := query.ParseKey(text)
		if err == nil && (k.Fold != nil || k.Prefix > 0) && (isArgName(k.Name) || k.Name == retval) {
			args = append(args, StringArg{arg: k.Name, implied: true})
		}
	}
	return args
}

// IsFunctionKey reports whether a key stands for the function, or for what has it, at a site of p: they
// are functions of files, inlined ones included, or of the kernel. Where code of a line has a variable of
// that name, it stands for the variable.
func IsFunctionKey(text string, p *reader.Probe) bool {
	line := p.Source != nil && p.Source.Line != ""
	return (text == "func" || text == "module") && p.Kind != reader.USDT && !(line && argument.Find(p.Source.Variables, text) != nil)
}

// keysOf returns the keys at a site of p that stand neither for arguments nor for the task.
func keysOf(p *reader.Probe) []string {
	return slices.DeleteFunc([]string{"probe", "func", "module", query.Stack}, func(key string) bool {
		return (key == "func" || key == "module") && !IsFunctionKey(key, p)
	})
}

// GroupName returns what is the same at the sites of a probe in keys of groups: its name or, if groups
// are made by less than that, its function or module.
func (l *Layout) GroupName(p *reader.Probe) string {
	function, module := false, false
	for _, text := range l.Wanted.By {
		if text == "probe" || !IsFunctionKey(text, p) && (text == "func" || text == "module") {
			return site.Name(p)
		}
		function, module = function || text == "func", module || text == "module"
	}
	if !function && !module {
		return site.Name(p)
	}
	out := "by"
	if function {
		out += " func " + FunctionName(p)
	}
	if module {
		out += " module " + p.Provider
	}
	return out
}

// FunctionName returns the name of the function at a site, without the address by which the kernel's of
// equal names are told apart. An inlined function, and one that has a line, is called as its own code is.
func FunctionName(p *reader.Probe) string {
	if p.Source != nil {
		return p.Source.Func
	}
	if p.Kind.InKernel() {
		name, _ := selector.SplitAddress(p.Name)
		return name
	}
	return p.Name
}

// part returns the part of a key that stands for what the text says at a site of p.
func (s *Schema) part(p *reader.Probe, text string) (part query.Part, err error) {
	part.Size = 8
	if text == "probe" || IsFunctionKey(text, p) {
		part.In = query.Input{Source: query.InputProbe, Kind: reader.String, Size: 4}
		return part, nil
	}
	k, err := query.ParseKey(text)
	if err != nil {
		return part, err
	}
	if k.Text == query.Stack && !s.has(query.Stack) {
		return s.stackPart()
	}
	if k.Computed() {
		err = s.bindComputed(&part, &k, p)
	} else if part.In, err = s.input(p, k.Name, k.Fold != nil || k.Prefix > 0, keysOf(p)); err == nil {
		part.In.WidenFloat()
		err = s.bindText(&part, &k, p)
	}
	return part, err
}

// bindText says how much of a text is in a part of a key, and what is made of it.
func (s *Schema) bindText(part *query.Part, k *query.Key, p *reader.Probe) error {
	comm := part.In.Source == query.InputComm
	if part.In.IsString() {
		part.Size = query.KeyStringSize
	}
	if comm {
		part.Size = query.KeyComm
	}
	switch {
	case k.Fold != nil && (part.In.Kind != reader.String || comm):
		return fmt.Errorf("%s is of text, and %s of %s:%s is none; --str says that an argument points to text", k.Text, k.Name, p.Provider, p.Name)
	case k.Fold != nil && k.Fold.Many:
		part.Fold, part.Size = k.Fold, query.KeyFoldedSize
	case k.Fold != nil:
		part.Shown = k.Fold
	case k.Prefix > query.KeyString:
		return fmt.Errorf("%s: groups are told apart by at most %d bytes of a text", k.Text, query.KeyString)
	case k.Prefix > 0 && (!part.In.IsString() || part.In.Meaning != reader.Plain):
		return fmt.Errorf("%s is the beginning of a text, and %s of %s:%s is none; --str says that an argument points to text", k.Text, k.Name, p.Provider, p.Name)
	case k.Prefix > 0:
		part.Prefix = k.Prefix
		if !comm {
			part.Size = query.PrefixSize(k.Prefix)
		}
	}
	return nil
}

// bindComputed binds the arguments of an expression. If one can never be read, the part is
// missing.
func (s *Schema) bindComputed(part *query.Part, k *query.Key, p *reader.Probe) error {
	source := query.InputComputed
	steps, kind, err := k.Steps(func(name string) (filter.Value, error) {
		in, err := s.Input(p, name, false)
		if err != nil {
			return filter.Value{}, err
		}
		if in.Source == query.InputMissing {
			source = query.InputMissing
		}
		part.Inputs = append(part.Inputs, in)
		return filter.Value{Kind: in.FilterKind(), Size: in.Size, Index: len(part.Inputs) - 1}, nil
	})
	if err != nil {
		return fmt.Errorf("key %v", err) // no error of a condition
	}
	part.In = query.Input{Source: source, Kind: reader.Uint, Size: 8}
	switch kind {
	case filter.Int:
		part.In.Kind = reader.Int
	case filter.Duration:
		part.In.Kind, part.In.Meaning = reader.Int, reader.Duration
	}
	if part.Steps = steps; source == query.InputMissing {
		part.Steps, part.Inputs = nil, nil
	}
	return nil
}
