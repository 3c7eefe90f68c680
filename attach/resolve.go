package attach

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// resolve returns the field that a path leads to, such as "peer.host" or
// "scores[1]"; its parts of structs are named by '.', elements of arrays by
// their index. Pointers on the way are followed from then on.
func (s *schema) resolve(where string) (*field, error) {
	end := strings.IndexAny(where, ".[")
	if end < 0 {
		end = len(where)
	}
	f := s.field(where[:end])
	if f == nil {
		return nil, fmt.Errorf("it has %s", strings.Join(append(namesOf(s.fields), "pid", "tid", "comm"), ", "))
	}
	at, text := 0, 0
	for rest := where[end:]; rest != ""; {
		if f = s.behind(f); f.err != nil {
			return nil, f.err
		}
		if name, ok := strings.CutPrefix(rest, "."); ok {
			if end = strings.IndexAny(name, ".["); end < 0 {
				end = len(name)
			}
			part := partOf(f, name[:end])
			if part == nil {
				return nil, noPart(f, where[:len(where)-len(rest)])
			}
			f, rest = part, name[end:]
			continue
		}
		i, tail, err := f.elementAt(rest)
		if err != nil {
			return nil, fmt.Errorf("%s %w", where[:len(where)-len(rest)], err)
		}
		at, text, rest = at+i*f.stride, text+i*f.texts, tail
		if i >= f.whole {
			text = noText
		}
		f = &f.parts[0]
	}
	if f.source == fromPointer {
		f = &f.parts[0]
	}
	shifted := *f
	shifted.offset += at
	shifted.index += text
	return &shifted, nil
}

// behind returns what a pointer leads to, and everything else as it is.
func (s *schema) behind(f *field) *field {
	if f.source == fromRecord && f.target != nil {
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
