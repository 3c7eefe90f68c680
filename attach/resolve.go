package attach

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// resolve returns the field that a path leads to, such as "peer.host" or
// "scores[1]"; parts of structs are named by '.', elements of arrays by their
// index. Pointers on the way are followed from then on.
func (s *schema) resolve(where string) (*field, error) {
	f, at, text, err := s.walk(where, true)
	if err != nil {
		return nil, err
	}
	shifted := *s.behind(f, false)
	shifted.offset += at
	shifted.index += text
	return &shifted, nil
}

// walk returns the field at the end of a path, and by how much its offset and
// the index of its string are shifted. follow says that pointers may be followed
// that were not before.
func (s *schema) walk(where string, follow bool) (f *field, at, text int, err error) {
	end := strings.IndexAny(where, ".[")
	if end < 0 {
		end = len(where)
	}
	if f = s.field(where[:end]); f == nil {
		return nil, 0, 0, fmt.Errorf("it has %s", strings.Join(append(namesOf(s.fields), "pid", "tid", "comm"), ", "))
	}
	for rest := where[end:]; rest != ""; {
		if f = s.behind(f, follow); f.err != nil {
			return nil, 0, 0, f.err
		}
		if name, ok := strings.CutPrefix(rest, "."); ok {
			if end = strings.IndexAny(name, ".["); end < 0 {
				end = len(name)
			}
			part := partOf(f, name[:end])
			if part == nil {
				return nil, 0, 0, noPart(f, where[:len(where)-len(rest)])
			}
			f, rest = part, name[end:]
			continue
		}
		i, tail, err := f.elementAt(rest)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%s %w", where[:len(where)-len(rest)], err)
		}
		at, text, rest = at+i*f.stride, text+i*f.texts, tail
		if i >= f.whole {
			text = noText
		}
		f = &f.parts[0]
	}
	return f, at, text, nil
}

// behind returns what a pointer leads to, and everything else as it is.
func (s *schema) behind(f *field, follow bool) *field {
	if follow && f.source == fromRecord && f.target != nil {
		s.typed.dereference(f, strings.Count(f.where, "."))
	}
	if f.source == fromPointer {
		return &f.parts[0]
	}
	return f
}

func partOf(f *field, name string) *field {
	if f.source != fromStruct {
		return nil
	}
	for i := range f.parts {
		if f.parts[i].name == name {
			return &f.parts[i]
		}
	}
	return nil
}

func noPart(f *field, where string) error {
	if f.source != fromStruct {
		return fmt.Errorf("%s has no fields", where)
	}
	return fmt.Errorf("%s has %s", where, strings.Join(namesOf(f.parts), ", "))
}

func namesOf(fields []field) []string {
	names := make([]string, 0, len(fields)+3)
	for i := range fields {
		names = append(names, fields[i].name)
	}
	return names
}

// elementAt returns the index at the beginning of a path, and what is behind it.
func (f *field) elementAt(where string) (i int, rest string, err error) {
	number, rest, ok := strings.Cut(strings.TrimPrefix(where, "["), "]")
	i, err = strconv.Atoi(number)
	switch {
	case !ok || err != nil || i < 0 || rest != "" && rest[0] != '.' && rest[0] != '[':
		return 0, "", errors.New("is followed by .NAME or [INDEX]")
	case f.source == fromSlice || f.source == fromCounted:
		return 0, "", errors.New("is a slice, whose elements have no fixed place")
	case f.source != fromArray:
		return 0, "", errors.New("is no array of values")
	case i >= f.count:
		return 0, "", fmt.Errorf("has %d elements", f.count)
	}
	return i, rest, nil
}
