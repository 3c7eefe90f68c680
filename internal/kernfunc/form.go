package kernfunc

import (
	"runtime"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/reader"
)

// formAt returns a function's form at its entry or its return, see [reader.KernelFunction]; it is empty if BTF says
// nothing of the function.
func (t *Table) formAt(f *Function, kind reader.ProbeKind) string {
	form := t.form(f)
	end := strings.IndexByte(form, result)
	switch {
	case end < 0:
		return ""
	case !kind.IsReturn():
		return form[:end+1]
	case !kind.HasArguments():
		return form[end:]
	}
	return form
}

// result is in a form before what is returned.
const result = '>'

// form returns the form of a function's arguments and result.
func (t *Table) form(f *Function) string {
	types, err := t.types.of(f.Module)
	if err != nil {
		return ""
	}
	for name := range f.Names {
		if id := types.functions[name]; id != 0 { // the one that prototype takes
			return types.form(id)
		}
	}
	return ""
}

// form returns the form of a function by its number. Functions of one type share it.
func (t *types) form(id uint32) string {
	fn, ok := t.of(id)
	if !ok {
		return ""
	}
	t.mu.Lock()
	form, known := t.forms[fn.value]
	t.mu.Unlock()
	if known {
		return form
	}
	if proto, err := t.proto(id); err == nil {
		b, used := make([]byte, 0, 64), 0
		for i := range proto.Params {
			a := &proto.Params[i]
			words := max(1, (a.Size+7)/8)
			b = a.appendForm(b, used+words <= registers[runtime.GOARCH])
			used += words
		}
		b = append(b, result)
		if proto.Result != nil {
			b = proto.Result.appendForm(b, true)
		}
		form = string(b)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forms == nil {
		t.forms = map[uint32]string{}
	}
	t.forms[fn.value] = form
	return form
}

// registers are how many words of arguments are in registers.
var registers = map[string]int{"amd64": 6, "arm64": 8}

// appendForm appends what decides how an argument is passed and read: programs read whole registers, whatever is in
// them.
func (p *Param) appendForm(b []byte, register bool) []byte {
	if register && p.Kind != Other {
		return append(b, 'r')
	}
	sign := byte('u')
	if p.Signed {
		sign = 's'
	}
	return append(strconv.AppendInt(append(b, sign, 'a'+byte(p.Kind)), int64(p.Size), 10), ' ')
}
