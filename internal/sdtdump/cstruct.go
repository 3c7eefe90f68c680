package sdtdump

import (
	"fmt"
	"io"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// cPrinter writes a C struct for the argument block of every typed probe, for
// BPF programs and bpftrace scripts. Nested types are written out where they
// are used, so that the structs of several objects can stand in one file. For a probe
// whose arguments are known otherwise, it writes a macro with their declarations.
type cPrinter struct {
	lines
	names   cNames
	written map[string]bool // by name
}

func newC(w io.Writer, o *options) printer {
	return &cPrinter{lines: newLines(w, o), names: cNames{}, written: map[string]bool{}}
}

func (c *cPrinter) probe(p *reader.Probe) error {
	name := c.names.unique(cName(identifier(p.Provider)+"_"+identifier(p.Name)), p.Provider+":"+p.Name)
	if known := c.prototypeOf(p, nil); known != nil && !c.written[name] {
		c.written[name] = true
		return c.macro(name, known, p.Arguments())
	}
	if p.Type == nil || p.Type.Struct == nil || c.written[name] {
		return nil
	}
	c.written[name] = true
	fmt.Fprintf(c.w, "/* %s, %s */\n", comment(p.Provider+":"+p.Name), blockLocation(p))
	fmt.Fprintf(c.w, "struct %s {\n", name)
	cMembers(c.w, p.Type.Struct.Members, p.Type.Struct.Size, "\t", 0)
	_, err := fmt.Fprint(c.w, "} __attribute__((packed));\n\n")
	return err
}

// macro writes the declarations of a probe's arguments.
func (c *cPrinter) macro(name string, known *prototype.Prototype, args []notes.Arg) error {
	fmt.Fprintf(c.w, "/* %s: int BPF_USDT(program, %s) of libbpf's usdt.bpf.h */\n", comment(known.String()), name)
	var params []string
	names := cNames{}
	for i := range args {
		param, name := param(known, i), argumentName(i)
		if param != nil {
			name = names.unique(cName(param.Name), argumentName(i))
		}
		switch {
		case param == nil:
			params = append(params, "unsigned long "+name)
		case param.Follow || param.Kind == prototype.Pointer:
			params = append(params, "const void *"+name)
		case param.Kind == prototype.Text:
			params = append(params, "const char *"+name)
		case param.Kind == prototype.Text16:
			params = append(params, "const unsigned short *"+name)
		case param.Kind == prototype.Bool:
			params = append(params, "_Bool "+name)
		case args[i].Err != nil || args[i].Float || args[i].Size > 8:
			params = append(params, "unsigned long "+name)
		default:
			t := btf.Int{Size: uint32(args[i].Size)}
			if args[i].Signed {
				t.Encoding = btf.Signed
			}
			params = append(params, cInt(&t)+" "+name)
		}
	}
	_, err := fmt.Fprintf(c.w, "#define %s %s\n\n", name, strings.Join(params, ", "))
	return err
}

// comment returns s as text that ends neither its line nor the comment around it.
func comment(s string) string { return strings.ReplaceAll(printable.String(s), "*/", `*\/`) }

// blockLocation describes where the block is while the site executes.
func blockLocation(p *reader.Probe) string {
	r := &p.Type.Record
	if r.BlockReg == notes.NoBlock {
		return "the block's address is not known"
	}
	reg := fmt.Sprintf("DWARF register %d", r.BlockReg)
	for _, name := range []string{"rax", "rdi", "rsp", "x8", "x0", "sp"} {
		if l, ok := notes.LookupRegister(notes.Machine(p.Machine), notes.Class(p.Class), name); ok && l.DWARF == int(r.BlockReg) {
			reg = name
			break
		}
	}
	if r.BlockOffset != 0 {
		return fmt.Sprintf("at %s%+d", reg, r.BlockOffset)
	}
	return "at " + reg
}

// maxNesting is the depth to which nested types are written out; deeper ones are
// bytes.
const maxNesting = 8

// cMembers writes the members of a packed struct of size bytes.
func cMembers(w io.Writer, members []btf.Member, size uint32, indent string, depth int) {
	at, pads, names := uint32(0), 0, cNames{}
	pad := func(to uint32) {
		if to > at {
			fmt.Fprintf(w, "%schar __pad%d[%d];\n", indent, pads, to-at)
			pads++
			at = to
		}
	}
	for i, m := range members {
		length, err := btf.Sizeof(m.Type)
		off := m.Offset.Bytes()
		if err != nil || m.BitfieldSize != 0 || off < at || length == 0 {
			continue // its bytes, if there are any, become padding
		}
		pad(off)
		fmt.Fprint(w, indent)
		cDeclare(w, m.Type, names.unique(cName(m.Name), fmt.Sprint(i)), indent, depth)
		fmt.Fprint(w, ";\n")
		at += uint32(length)
	}
	pad(size)
}

// cDeclare writes the declaration of name without a semicolon.
func cDeclare(w io.Writer, t btf.Type, name, indent string, depth int) {
	size, _ := btf.Sizeof(t)
	switch u := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		fmt.Fprintf(w, "%s %s", cInt(u), name)
		return
	case *btf.Float:
		if u.Size == 4 || u.Size == 8 {
			fmt.Fprintf(w, "%s %s", map[uint32]string{4: "float", 8: "double"}[u.Size], name)
			return
		}
	case *btf.Enum:
		fmt.Fprintf(w, "%s %s", cInt(&btf.Int{Size: u.Size, Encoding: map[bool]btf.IntEncoding{true: btf.Signed}[u.Signed]}), name)
		return
	case *btf.Pointer:
		target := "void"
		if i, ok := btf.UnderlyingType(u.Target).(*btf.Int); ok && i.Size == 1 {
			target = cInt(i)
		}
		fmt.Fprintf(w, "%s *%s", target, name)
		return
	case *btf.Array:
		if depth < maxNesting {
			cDeclare(w, u.Type, fmt.Sprintf("%s[%d]", name, u.Nelems), indent, depth+1)
			return
		}
	case *btf.Struct:
		if depth < maxNesting {
			fmt.Fprint(w, "struct {\n")
			cMembers(w, u.Members, u.Size, indent+"\t", depth+1)
			fmt.Fprintf(w, "%s} __attribute__((packed)) %s", indent, name)
			return
		}
	}
	fmt.Fprintf(w, "char %s[%d]", name, size)
}

// cInt returns an integer type of C, whatever its name in the object.
func cInt(i *btf.Int) string {
	switch {
	case i.Encoding == btf.Bool:
		return "_Bool"
	case i.Name == "char":
		return "char"
	}
	name := map[uint32]string{1: "char", 2: "short", 4: "int", 8: "long long"}[i.Size]
	switch {
	case name == "":
		return "unsigned __int128"
	case i.Encoding&btf.Signed == 0:
		return "unsigned " + name
	case i.Size == 1:
		return "signed char"
	}
	return name
}
