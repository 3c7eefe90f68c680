package word

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
)

// Set registers words as flags of a verb.
type Set struct{ *pflag.FlagSet }

// Add registers a word. The value is its default. Numbers and durations must not be negative. A verb may say more exactly what the word
// means there.
func (s Set) Add(name string, value any, exactly ...string) {
	w, ok := All[name]
	if !ok {
		panic("no word " + name)
	}
	if len(exactly) > 0 {
		w.usage = exactly[0]
	}
	switch p := value.(type) {
	case *bool:
		s.BoolVarP(p, name, w.short, *p, w.usage)
	case *string:
		s.StringVarP(p, name, w.short, *p, w.usage)
	case *int:
		s.VarP((*flagvalue.Count)(p), name, w.short, w.usage)
	case *uint64:
		s.Uint64VarP(p, name, w.short, *p, w.usage)
	case *time.Duration:
		s.VarP((*flagvalue.Duration)(p), name, w.short, w.usage)
	case *[]int:
		s.IntSliceVarP(p, name, w.short, *p, w.usage)
	case *[]float64:
		s.Float64SliceVarP(p, name, w.short, *p, w.usage)
	case *[]string:
		s.StringSliceVarP(p, name, w.short, *p, w.usage)
	case *Repeated:
		s.StringArrayVarP((*[]string)(p), name, w.short, *p, w.usage)
	case pflag.Value:
		s.VarP(p, name, w.short, w.usage)
	default:
		panic(fmt.Sprintf("word %s of type %T", name, value))
	}
	s.Lookup(name).Hidden = hidden[name]
	switch name {
	case "stack":
		s.Lookup(name).NoOptDefVal = strconv.Itoa(attach.MaxStack)
	case "stop":
		s.Lookup(name).NoOptDefVal = "1"
	}
}

// Repeated is a flag that is given once for each value, which may have commas.
type Repeated []string
