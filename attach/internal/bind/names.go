package bind

import (
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// Input finds what name stands for at a site of p: what taskInput knows, an
// argument's name, or argN. isString says that a string is wanted.
func (s *Schema) Input(p *reader.Probe, name string, isString bool) (query.Input, error) {
	return s.input(p, name, isString, nil)
}

// instead says which variables of a function or line there are instead of a member that none has: a
// structure's fields are only the members that somebody has asked for. It returns "" if there are none.
func instead(p *reader.Probe, name string) string {
	of, _, member := strings.Cut(name, ".")
	if !member {
		return ""
	}
	var names, members []string
	for _, v := range variablesOf(p) {
		names = append(names, v.Name)
		if strings.HasPrefix(v.Name, of+".") {
			members = append(members, v.Name)
		}
	}
	if near := spelling.Nearly(name, names); near != "" || len(members) == 0 {
		return near
	}
	const few = 12
	more := ""
	if len(members) > few {
		members, more = members[:few], " and others"
	}
	return ", but " + strings.Join(members, ", ") + more
}

// input is Input where a name may also be one of keys, which messages name.
func (s *Schema) input(p *reader.Probe, name string, isString bool, keys []string) (query.Input, error) {
	if in, ok, err := s.taskInput(name); ok {
		return in, err
	}
	f, err := s.Resolve(name)
	if none := (*shape.NoArgument)(nil); errors.As(err, &none) {
		none.Keys = keys
	}
	if err != nil && name == "probe" {
		return query.Input{}, fmt.Errorf("%s has no argument %[2]s, and conditions do not know the %[2]s: name it as PROBE, or an argument that no other has: %w", site.Name(p), name, err)
	}
	if err != nil && p.Kernel != nil {
		var none *shape.NoArgument
		if why := lacksKernel(p, name); p.Kernel.Types().Err != nil || errors.Is(why, errGone) || name == retval || !errors.As(err, &none) {
			return query.Input{}, fmt.Errorf("%s has no argument %s: %w", site.Name(p), name, why)
		}
	}
	if err != nil {
		if instead := instead(p, name); instead != "" {
			return query.Input{}, fmt.Errorf("%s has no argument %s%s", site.Name(p), name, instead)
		}
		return query.Input{}, fmt.Errorf("%s has no argument %s: %w", site.Name(p), name, err)
	}
	in := query.Input{Kind: f.Kind, Meaning: f.Meaning, Size: f.Size}
	if isString && p.Type == nil && f.Source == shape.FromNowhere {
		in.Kind = reader.String
	}
	switch f.Source {
	case shape.FromNowhere:
	case shape.FromConstant:
		in.Source, in.Value, in.Size = query.InputConstant, f.Bits, 8
	case shape.FromRecord:
		start := s.Sig.BlockOffset()
		if f.Offset >= start {
			in.Source, in.Offset = query.InputBlock, uint32(f.Offset-start)
			break
		}
		in.Source, in.Index = query.InputOperand, f.Read
		word := uint8(8)
		if p.Class == elf.ELFCLASS32 {
			word = 4
		}
		text := isString && p.Type == nil && f.Size == word && f.Kind != reader.Float && s.enums[f.Name] == nil
		if text && (s.saved || s.onlyRecords) {
			return in, fmt.Errorf("argument %s of %s:%s was recorded as a number: record text by --str", name, p.Provider, p.Name)
		}
		if text {
			in.Source, in.Kind, in.String = query.InputString, reader.String, record.String{Slot: f.Read}
		}
	case shape.FromGoTime:
		in.Source, in.Offset = query.InputGoTime, uint32(f.Offset-s.Sig.BlockOffset())
	case shape.FromGoAddr:
		in.Source, in.Offset = query.InputGoAddr, uint32(f.Offset-s.Sig.BlockOffset())
	case shape.FromRaw, shape.FromChars:
		if !in.IsString() {
			return in, fmt.Errorf("argument %s of %s:%s is neither a number nor a string", name, p.Provider, p.Name)
		}
		in.Source, in.Offset, in.Value = query.InputBytes, uint32(f.Offset-s.Sig.BlockOffset()), uint64(f.Count)
		if f.Source == shape.FromChars {
			in.Source = query.InputChars
		}
	case shape.FromString:
		if f.Wide {
			return in, fmt.Errorf("argument %s of %s:%s is UTF-16, which events hold, but which cannot be compared", name, p.Provider, p.Name)
		}
		if f.Index < 0 {
			break // its read would be one too many
		}
		in.Source, in.String = query.InputString, s.Sig.Strings[f.Index]
	default:
		return in, fmt.Errorf("argument %s of %s:%s is neither a number nor a string", name, p.Provider, p.Name)
	}
	return in, nil
}

// has reports whether Input would find name.
func (s *Schema) has(name string) bool {
	if _, ok, err := s.taskInput(name); ok {
		return err == nil
	}
	_, err := s.Resolve(name)
	return err == nil
}

func (s *Schema) hasAll(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !s.has(name) })
}

// lacks returns why events of p cannot be grouped by name.
func (s *Schema) lacks(p *reader.Probe, name string) error {
	_, err := s.part(p, name)
	return err
}

// constantOf returns the value of a constant, for an event.Arg.
func constantOf(bits uint64, size uint8, kind reader.FieldKind, meaning reader.Meaning) any {
	v, _ := event.NumberValue(kind, meaning, bits, size).Any()
	return v
}

// bitsOf returns the bits of a number of 64 bits.
func bitsOf(v any) uint64 {
	switch v := v.(type) {
	case uint64:
		return v
	case int64:
		return uint64(v)
	case float64:
		return math.Float64bits(v)
	case time.Duration:
		return uint64(v)
	case bool:
		if v {
			return 1
		}
	}
	return 0
}
