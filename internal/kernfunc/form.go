package kernfunc

// form returns a function's form, see [reader.KernelFunction]; it is empty if BTF says nothing of the function.
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
		b := make([]byte, 0, 64)
		for i := range proto.Params {
			b = proto.Params[i].appendForm(b)
		}
		b = append(b, '>')
		if proto.Result != nil {
			b = proto.Result.appendForm(b)
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

// appendForm appends what decides how an argument is passed and read. No argument takes 2^16 bytes that
// are read.
func (p *Param) appendForm(b []byte) []byte {
	sign := byte('u')
	if p.Signed {
		sign = 's'
	}
	size := min(p.Size, 1<<16-1)
	return append(b, sign, '0'+byte(p.Kind), byte(size), byte(size>>8))
}
