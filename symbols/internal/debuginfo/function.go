package debuginfo

import (
	"debug/elf"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/symbols/internal/dwarfop"
)

// Call says how a function is called.
type Call struct {
	Go    bool // by Go's ABIInternal
	Stack bool // by Go's ABI0
	// Altered says that the function is a copy whose arguments the compiler may have changed.
	Altered bool
}

// Retval is the name of a result that has none. Several are Retval.0, Retval.1 and so on.
const Retval = "retval"

// LLVM removes results that no caller in the file uses, and debugging information does not say so.
var errUncertain = errors.New("the compiler may have changed what this function returns, since only its own file calls it; retval:int64 is what the register has")

var errUnknownHere = errors.New("debugging information does not say where it is at the function's entry, and the calling convention is not certain")

// Functions reads the arguments and results of functions. It is for one goroutine.
type Functions struct {
	info    *Info
	number  int // of the unit that was read last
	unit    *Unit
	lang    uint64
	gnu     bool              // compiled by GCC
	entries map[uint64][]byte // its functions, by address, from their entries on
	datas   map[*unit][]byte
	data    []byte
	consts  *constants
	err     error
}

// Functions returns a reader of functions.
func (d *Info) Functions() *Functions { return &Functions{info: d, number: -1} }

// At returns the arguments of the function at addr, where they are at its entry, with members of
// structures as NAME.MEMBER, and the results, where they are at its return. known is false if there
// is no such function.
func (f *Functions) At(addr uint64, call Call) (args, results []Variable, known bool, err error) {
	number, ok := f.info.Unit(addr)
	if !ok {
		return nil, nil, false, nil
	}
	if number != f.number {
		f.open(number)
	}
	data, ok := f.entries[addr]
	if !ok || f.err != nil || f.lang == langAssembler {
		return nil, nil, false, f.err
	}
	e := &entrance{call: call, list: f.unit.shapes.moving(f.unit.unit.enc), gnu: f.gnu}
	e.variables = variables{unit: f.unit, addr: addr, datas: f.datas, data: f.data, consts: f.consts}
	if e.abi = newConvention(f.info.arch, f.lang, call); e.abi == nil {
		return nil, nil, false, nil
	}
	e.read(data)
	if f.info.spend(0) < 0 {
		err = errWork
	}
	return e.args, e.results, true, err
}

// open reads where the functions of a unit are.
func (f *Functions) open(number int) {
	*f = Functions{info: f.info, number: number}
	d := f.info
	if d.spend(d.units[number].end-d.units[number].off) < 0 {
		f.err = errWork
		return
	}
	u, data, _, _, err := d.openUnit(number)
	if f.err = err; u == nil {
		return
	}
	f.data, f.consts = data, &constants{}
	f.unit, f.entries, f.datas = u, map[uint64][]byte{}, map[*unit][]byte{u.unit: data}
	begin := u.unit.end - uint64(len(data))
	limit := maxRanges
	u.entries(data, func(tag uint32) bool { return tag == tagSubprogram || tag == tagCompileUnit }, func(e *entry) bool {
		if e.depth == 0 {
			f.lang = e.get(attrLanguage).num
			f.gnu = strings.HasPrefix(d.string(u.unit, e.get(attrProducer)), "GNU ")
		}
		if e.tag != tagSubprogram {
			return true
		}
		code := d.code(u.unit, e.get(attrLowPC), e.get(attrHighPC), e.get(attrRanges), &limit)
		for i, r := range code {
			if _, known := f.entries[r.low]; !known && (i == 0 || e.get(attrRanges).form != 0) {
				f.entries[r.low] = data[e.off-begin:]
			}
		}
		return true
	})
	f.err = err
}

// entrance reads the arguments of a function at its entry.
type entrance struct {
	variables
	call          Call
	list          bool // whether the unit has lists of locations
	gnu           bool
	abi           *convention
	args, results []Variable
}

// parameter is an argument or a result.
type parameter struct {
	*node
	name   string
	typ    typ
	pieces []piece // where debugging information has it
	known  bool    // whether it is there at the entry
	abi    []piece // where the calling convention has it
}

// stackPointer returns the register that the frame's address is above at a function's entry, and
// the distance.
func stackPointer(m elf.Machine) term {
	switch m {
	case elf.EM_X86_64:
		return term{hasReg: true, reg: 7, off: 8}
	case elf.EM_386:
		return term{hasReg: true, reg: 4, off: 4}
	}
	return term{hasReg: true, reg: 31}
}

// read reads the function whose entry begins data.
func (v *entrance) read(data []byte) {
	u := v.unit
	var fn *node
	var in, out []parameter
	u.entries(data, func(tag uint32) bool { return tag == tagSubprogram || tag == tagFormalParameter }, func(e *entry) bool {
		if u.info.spend(16) < 0 {
			return false
		}
		n := &node{u.info, u.unit, nil, entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}
		switch {
		case e.depth == 0:
			fn = n
		case e.depth == 1 && e.tag == tagFormalParameter && len(in)+len(out) < maxMembers:
			p := parameter{node: n, name: v.text(n, attrName), typ: v.typeOf(n)}
			again := func(q parameter) bool { return q.name == p.name && p.name != "" && p.name != "_" }
			if _, result := v.attribute(n, attrVarParameter); result.num != 0 && v.abi.golang {
				if !slices.ContainsFunc(out, again) { // the compiler writes results of a function with defers twice
					out = append(out, p)
				}
			} else {
				in = append(in, p)
			}
		}
		return true
	})
	if fn == nil {
		return
	}
	cfa := stackPointer(u.info.arch)
	v.frame = frame{entry: true, cfa: func() (term, error) { return cfa, nil }, base: func() (term, error) {
		code, err := u.info.expression(u.unit, fn.get(attrFrameBase), v.addr)
		if err != nil || len(code) != 1 || code[0] != dwarfop.CallFrameCFA {
			return term{}, errFrame // a register that only the prologue sets
		}
		return cfa, nil
	}}
	_, external := v.attribute(fn, attrExternal)
	certain := !v.call.Altered && (v.abi.golang || v.gnu || external.num != 0 || !v.list)
	for i := range in {
		v.place(&in[i], cfa)
	}
	if !v.abi.golang {
		if result := v.typeOf(fn); result.node != nil {
			out = append(out, parameter{node: fn, typ: result})
		}
	}
	dictionary := v.abi.golang && strings.Contains(v.text(fn, attrName), "[go.shape.") && !slices.ContainsFunc(in, func(p parameter) bool { return p.name == ".dict" })
	if dictionary { // of types, which is the first argument
		v.abi.int++
	}
	if !v.abi.assign(v, in, out) {
		certain = false // what is known contradicts it
	}
	for i := range in {
		v.argument(&in[i], certain)
	}
	v.args, v.out = v.out, nil
	for i := range out {
		v.result(out, i, certain)
	}
	v.results = v.out
}

// place reads where debugging information has an argument.
func (v *entrance) place(p *parameter, cfa term) {
	if c := p.get(attrConstValue); c.form != 0 && c.str == nil {
		p.pieces, p.known = []piece{{place: Place{Kind: Constant, Off: int64(c.num)}}}, true
		return
	}
	loc := p.get(attrLocation)
	code, err := p.info.expression(p.unit, loc, v.addr)
	if err != nil || len(code) == 0 {
		return
	}
	p.pieces = p.info.locate(p.unit, code, &v.frame)
	if loc.str == nil {
		p.known = true // by a list, which says where it is at this instruction
		return
	}
	p.known = !slices.ContainsFunc(p.pieces, func(x piece) bool {
		switch {
		case x.err != nil:
			return true
		case x.place.Kind == InMemory && x.place.Reg == cfa.reg:
			return x.place.Off < cfa.off // stored there by the prologue
		case x.place.Kind == Constant || x.place.Kind == AtAddress:
			return false
		}
		return !v.list || x.place.Kind == InMemory
	})
}

// argument appends an argument and its parts.
func (v *entrance) argument(p *parameter, certain bool) {
	if p.name == "" || p.name == "_" || p.name[0] == '.' || p.name[0] == '~' {
		return
	}
	pieces := p.pieces
	failed := slices.IndexFunc(pieces, func(x piece) bool { return x.err != nil })
	switch {
	case p.known && failed < 0:
	case !certain || len(p.abi) == 0:
		if !p.known {
			pieces = []piece{{err: errUnknownHere}}
		}
	case v.abi.golang, v.gnu, !v.list, p.get(attrLocation).str != nil, p.abi[0].place.Kind == InMemory, p.known && pieces[failed].err != errOptimisedOut:
		pieces = p.abi
	case !p.known: // compilers other than Go's may leave out what a function does not use
		pieces = []piece{{err: errOptimisedOut}}
	}
	v.parameter(p.name, p.typ, v.realign(pieces, p.typ))
}

// result appends result i and its parts.
func (v *entrance) result(all []parameter, i int, certain bool) {
	p := &all[i]
	name := p.name
	alias := Retval
	if len(all) > 1 {
		alias += "." + strconv.Itoa(i)
	}
	if name == "" || name == "_" || strings.HasPrefix(name, "~") {
		name = alias
	}
	pieces := p.abi
	switch {
	case !certain:
		pieces = []piece{{err: errUncertain}}
	case len(pieces) == 0:
		pieces = []piece{{err: errors.New("the calling convention does not say where the function has it")}}
	}
	v.parameter(name, p.typ, pieces)
}

func (v *entrance) parameter(name string, t typ, pieces []piece) {
	if t.node == nil {
		v.add(Variable{Name: name, Argument: true, Err: errNoNumber})
		return
	}
	v.value(name, true, t, func(offset, size uint64) (Place, error) { return at(pieces, offset, size) }, 0, true)
}
