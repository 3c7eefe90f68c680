package page

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// kinded is what the filter knows of an argument's values, see valueOf in filter.js.
type kinded struct {
	kind  string // empty until a value is known
	of    string // the kind of a list's elements
	count int    // how many elements an array has; 0 if that is not known
	names map[string]string
}

// numbered is a number that is shown as what it means.
type numbered interface {
	fmt.Stringer
	Number() any
}

// maxNames bounds the names of one argument: enumerations have fewer.
const maxNames = 256

// note notes what a value of the argument says. p is nil for parts of structs.
func (k *kinded) note(p *reader.Probe, i int, a *event.Arg) {
	switch v := a.Value.(type) {
	case uint64, int64, float64, bool, string, time.Duration: // most of all, and nothing more to note
		if k.kind != "" {
			return
		}
	case numbered:
		k.name(v)
	}
	if k.kind != "" {
		return
	}
	list, _ := a.Value.(event.List)
	if k.of == "" && len(list) > 0 {
		k.of = kindOf(list[0].Value)
	}
	k.kind = kindOf(a.Value)
	if p == nil || p.Type == nil || i >= len(p.Type.Fields) || p.Type.Fields[i].Name != a.Name {
		return
	}
	f := &p.Type.Fields[i]
	if f.LenOffset == 0 {
		k.count = len(list)
	}
	switch {
	case f.Kind == reader.Float && f.Size == 4:
		k.kind = "float32"
	case f.Meaning == reader.NetIP:
		k.kind = "netip"
	case k.kind == "list" && f.LenOffset != 0:
		k.kind = "slice"
	case k.kind == "list" && strings.HasPrefix(f.CType, "float["):
		k.of = "float32"
	}
}

// name notes which number a text stands for.
func (k *kinded) name(n numbered) {
	text := n.String()
	if _, known := k.names[text]; known || len(k.names) == maxNames || strings.Trim(text, "0123456789") == "" {
		return
	}
	if k.names == nil {
		k.names = map[string]string{}
	}
	k.names[text] = fmt.Sprint(n.Number())
}

// kindOf returns the kind of a value in conditions; empty if it has none.
func kindOf(value any) string {
	switch v := value.(type) {
	case uint64:
		return "uint"
	case int64:
		return "int"
	case float64:
		return "float"
	case bool:
		return "bool"
	case string, []byte:
		return "string"
	case event.Hex:
		return "hex"
	case time.Duration:
		return "duration"
	case time.Time:
		return "time"
	case netip.Addr:
		return "address"
	case event.List:
		return "list"
	case event.Struct:
		return "struct"
	case numbered:
		return kindOf(v.Number())
	}
	return ""
}
