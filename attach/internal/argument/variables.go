package argument

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// Variables are what a site may have by name.
type Variables struct {
	All   []reader.Variable
	Err   error  // why some are missing
	Where string // "in scope here"
	// Of returns how one is read; nil for variables that are where debugging information says.
	Of func(*reader.Variable) (operand.Operand, error)
}

func (v *Variables) Find(name string) *reader.Variable { return Find(v.All, name) }

func Find(all []reader.Variable, name string) *reader.Variable {
	if base, index, ok := strings.Cut(name, "["); ok {
		return element(Find(all, base), name, index)
	}
	if i := slices.IndexFunc(all, func(v reader.Variable) bool { return v.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Lacking is the error for a name that no variable has.
type Lacking struct{ error }

// Lack returns the error for a variable that is missing.
func (v *Variables) Lack(name string) error {
	if v.Err != nil {
		return v.Err
	}
	var names []string
	for i := range v.All {
		names = append(names, v.All[i].Name)
	}
	if len(names) == 0 {
		return Lacking{fmt.Errorf("no variable is %s", v.Where)}
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		if base := v.Find(name[:i]); base != nil && base.Behind && strings.Contains(base.Type, "*") {
			return Lacking{fmt.Errorf("no variable %s is %s: %s is behind a pointer itself, and what it points to is not read", name, v.Where, base.Name)}
		}
	}
	return Lacking{fmt.Errorf("no variable %s is %s%s", name, v.Where, spelling.Nearly(name, names))}
}

// ShownReads bounds the reads of all that is shown without having been named.
const ShownReads = 24

// Usual returns what is shown unless something is named.
func (v *Variables) Usual() (names []string) {
	lengths := map[string]bool{}
	for i := range v.All {
		lengths[v.All[i].Length] = true
	}
	left := ShownReads
	for _, behind := range []bool{false, true} {
		for i := range v.All {
			x := &v.All[i]
			if x.Held != nil {
				continue
			}
			member := strings.Contains(x.Name, ".") && !strings.HasPrefix(x.Name, Retval+".")
			reads := 1
			if x.Kind == reader.String || x.Stride > 0 {
				reads = 3
			}
			switch {
			case x.Behind != behind || lengths[x.Name] || behind && x.Kind != reader.String || v.word(x):
			case member && (x.Err != nil || reads > left):
			default:
				left -= reads
				names = append(names, x.Name)
			}
		}
	}
	return v.inside(names, left)
}

// inside returns names, and behind each that of an error what is in it, if that takes no more reads than
// are left.
func (v *Variables) inside(names []string, left int) (out []string) {
	within := map[string]bool{}
	for _, name := range names {
		within[name] = true
		out = append(out, name)
		if x := v.Find(name); x == nil || !x.Interface {
			continue
		}
		left-- // its second word
		last := ""
		for i := range v.All {
			x := &v.All[i]
			if x.Held == nil || !within[x.Held.Interface] || !strings.HasPrefix(x.Name, name+".") || v.isLength(x) || v.word(x) {
				continue
			}
			reads := 1
			if x.Kind == reader.String {
				reads = 3
			}
			if x.Held.Interface != last {
				reads, last = reads+1, x.Held.Interface
			}
			if x.Interface {
				reads++
			}
			if x.Behind || reads > left {
				continue
			}
			left -= reads
			out, within[x.Name] = append(out, x.Name), true
		}
	}
	return out
}

// isLength reports whether a variable is the length of another one.
func (v *Variables) isLength(x *reader.Variable) bool {
	whole, ok := strings.CutSuffix(x.Name, ".len")
	if !ok {
		return false
	}
	of := Find(v.All, whole)
	return of != nil && of.Length == x.Name
}

// word reports whether a variable is one of the words of an interface, whose value has a name.
func (v *Variables) word(x *reader.Variable) bool {
	i := strings.LastIndexByte(x.Name, '.')
	if i < 0 {
		return false
	}
	if x.Held != nil && x.Name[i:] != ".data" {
		return false
	}
	whole := Find(v.All, x.Name[:i])
	return whole != nil && len(whole.Named) > 0
}

// Parts returns what is shown of a structure that is cast: its members and, if there are few, text
// to which they point.
func (v *Variables) Parts(left int) (names []string) {
	lengths := map[string]bool{}
	for i := range v.All {
		lengths[v.All[i].Length] = true
	}
	for _, behind := range []bool{false, true} {
		for i := range v.All {
			x := &v.All[i]
			reads := 1
			if x.Kind == reader.String || x.Stride > 0 {
				reads = 3
			}
			if x.Held != nil || i == 0 && x.Kind != reader.String && len(v.All) > 1 || v.word(x) || x.Behind != behind || lengths[x.Name] || x.Err != nil || behind && x.Kind != reader.String || reads > left {
				continue
			}
			if _, err := v.Of(x); err != nil {
				continue
			}
			left -= reads
			names = append(names, x.Name)
		}
	}
	return names
}

// element returns an element of an array as a variable, nil if there is none.
func element(v *reader.Variable, name, index string) *reader.Variable {
	i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	if v == nil || v.Kind == reader.String || err != nil || !strings.HasSuffix(index, "]") || i < 0 || i >= v.Count {
		return nil
	}
	x := *v
	x.Name, x.Count, x.Stride, x.Size = name, 0, 0, v.Stride
	switch {
	case v.Follow:
		x.FollowOffset += int64(i * v.Stride)
	default:
		x.Offset += int64(i * v.Stride)
	}
	return &x
}
