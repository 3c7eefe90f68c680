package shape

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/grammar"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// NoString replaces the index of a string that was not read. It is so small that it
// stays negative when an index is added to it.
const NoString = math.MinInt32

// Resolve returns the field that a path leads to, such as "peer.host" or "scores[1]",
// at its place in the record. A '.' precedes a part of a struct, and an index in
// brackets selects an element of an array. For a pointer at the end, Resolve returns
// what it leads to if the pointer is followed, and its address otherwise.
func (s *Shape) Resolve(path string) (*Field, error) {
	f, at, index, err := s.Lookup(path)
	if err != nil {
		return nil, err
	}
	shifted := *behind(f)
	shifted.Offset += at
	shifted.Index += index
	return &shifted, nil
}

// NoArgument is the error for a path that begins with no argument. Its text names what
// conditions may name and, where a key is sought, what keys may name.
type NoArgument struct {
	Has  []string
	Keys []string // that stand for no argument, and that conditions do not know
	Name string   // that it lacks
}

func (e *NoArgument) Error() string {
	all := e.Names()
	return "it has " + strings.Join(all, ", ") + spelling.Nearly(e.Name, all)
}

// Names returns all that can be named.
func (e *NoArgument) Names() []string { return slices.Concat(e.Has, grammar.TaskKeys, e.Keys) }

// Lookup returns the field at the end of a path, and the shifts of its offset and of
// the index of its string: the field of an array's first element stands for all
// elements.
func (s *Shape) Lookup(path string) (f *Field, at, index int, err error) {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if f = s.argument(path); f != nil {
		return f, 0, 0, nil // also a variable's member, which is an argument of its own
	}
	if f = s.argument(path[:end]); f == nil {
		return nil, 0, 0, &NoArgument{Has: namesOf(s.Fields), Name: path[:end]}
	}
	for rest := path[end:]; rest != ""; {
		if f = behind(f); f.Err != nil {
			return nil, 0, 0, f.Err
		}
		if name, ok := strings.CutPrefix(rest, "."); ok {
			if end = strings.IndexAny(name, ".["); end < 0 {
				end = len(name)
			}
			part := partOf(f, name[:end])
			if part == nil {
				return nil, 0, 0, noPart(f, path[:len(path)-len(rest)])
			}
			f, rest = part, name[end:]
			continue
		}
		i, tail, err := f.elementAt(rest)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%s %w", path[:len(path)-len(rest)], err)
		}
		at, index, rest = at+i*f.Stride, index+i*f.Strings, tail
		if i >= f.Whole {
			index = NoString
		}
		f = &f.Parts[0]
	}
	return f, at, index, nil
}

// Pointers returns the paths that a path passes through. Those of pointers must be
// followed for Resolve to find the field. The result has the names that arguments
// have in fields, even if the path has their places.
func Pointers(path string, fields []reader.Field) (through []string) {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return nil
	}
	head := path[:end]
	named := func(f reader.Field) bool { return f.Name == head }
	if i, ok := ArgNumber(head); ok && i < len(fields) && !slices.ContainsFunc(fields, named) {
		path = fields[i].Name + path[end:]
	}
	for i, c := range path {
		if c == '.' || c == '[' {
			through = append(through, path[:i])
		}
	}
	return through
}

// argument returns the field that is called name, or that is at the place that name
// stands for.
func (s *Shape) argument(name string) *Field {
	for _, fields := range [][]Field{s.Fields, s.Unshown} {
		for i := range fields {
			if fields[i].Name == name {
				return &fields[i]
			}
		}
	}
	i, ok := ArgNumber(name)
	switch {
	case !ok || s.Named:
	case i < len(s.Places) && s.Places[i] != name:
		return s.argument(s.Places[i])
	case s.Places == nil && i < len(s.Fields):
		return &s.Fields[i]
	}
	return nil
}

// ArgName returns the name, by its place, of an argument without a name.
func ArgName(i int) string { return "arg" + strconv.Itoa(i) }

// ArgNumber returns the place for which ArgName returns name.
func ArgNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "arg")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && ArgName(i) == name
}

// behind returns what a followed pointer leads to, and other fields as they are.
func behind(f *Field) *Field {
	if f.Source == FromPointer {
		return &f.Parts[0]
	}
	return f
}

func partOf(f *Field, name string) *Field {
	if f.Source != FromStruct {
		return nil
	}
	for i := range f.Parts {
		if f.Parts[i].Name == name {
			return &f.Parts[i]
		}
	}
	return nil
}

func noPart(f *Field, prefix string) error {
	if f.Source != FromStruct {
		return fmt.Errorf("%s has no fields", prefix)
	}
	return fmt.Errorf("%s has %s", prefix, strings.Join(namesOf(f.Parts), ", "))
}

func namesOf(fields []Field) []string {
	names := make([]string, 0, len(fields)+3)
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	return names
}

// elementAt returns the index at the beginning of a path, and the rest of the path.
func (f *Field) elementAt(path string) (i int, rest string, err error) {
	number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err = strconv.Atoi(number)
	switch {
	case !ok || err != nil || i < 0 || rest != "" && rest[0] != '.' && rest[0] != '[':
		return 0, "", errors.New("is followed by .NAME or [INDEX]")
	case f.Source == FromSlice || f.Source == FromCounted:
		return 0, "", errors.New("is a slice, whose elements have no fixed place")
	case f.Source != FromArray:
		return 0, "", errors.New("is not an array of values")
	case i >= f.Count:
		return 0, "", fmt.Errorf("has %d elements", f.Count)
	}
	return i, rest, nil
}
