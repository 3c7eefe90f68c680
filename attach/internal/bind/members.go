package bind

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bindMembers reads what is behind pointers that are arguments of a function of the kernel: events
// hold what Options.Follow names, and Options.Args; conditions and keys use more.
//
// place returns where an argument is.
func (b *Binder) bindMembers(sc *Schema, p *reader.Probe, place func(i int) (operand.Operand, error)) {
	shown := b.membersFollowed(p)
	n := len(shown)
	for _, name := range slices.Concat(b.Args.Names, b.namesUsed()) {
		if strings.Contains(name, ".") && !slices.Contains(shown, name) && paramOf(p, name) >= 0 {
			shown = append(shown, name)
		}
	}
	first := len(sc.Fields)
	var strs []stringField
	for _, name := range shown {
		f, i := shape.Field{Name: name}, paramOf(p, name)
		if m, err := kernfunc.MemberOf(p, &p.Kernel.Types().Params[i], name); err != nil {
			f.Err = err
		} else if op, err := place(i); err != nil {
			f.Err = err
		} else if sc.bindMember(&f, m, op, len(strs)) {
			strs = append(strs, stringField{len(sc.Fields), &StringArg{arg: name}})
		}
		sc.Fields = append(sc.Fields, f)
	}
	sc.bindStrings(strs, nil)
	for i := range sc.Fields[first : first+n] {
		b.Used.seeMember(sc.Fields[first+i].Name, sc.Fields[first+i].Err)
	}
	sc.Unshown = append(sc.Unshown, sc.Fields[first+n:]...)
	sc.Fields = sc.Fields[: first+n : first+n]
}

// membersFollowed returns the members that Options.Follow names and that the function may have.
func (b *Binder) membersFollowed(p *reader.Probe) (names []string) {
	for _, name := range b.Follow {
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			if name[:i] != site.Name(p) {
				continue
			}
			name = name[i+1:]
		}
		switch head, _, _ := strings.Cut(name, "."); {
		case strings.ContainsAny(name, "*?["):
			b.Used.seeMember(name, errPattern)
		case paramOf(p, name) >= 0:
			names = append(names, name)
		default:
			b.Used.seeMember(name, lacksKernel(p, head))
		}
	}
	return names
}

// paramOf returns which argument a path begins with, -1 if it is none.
func paramOf(p *reader.Probe, path string) int {
	head, _, _ := strings.Cut(path, ".")
	return slices.IndexFunc(p.Kernel.Types().Params, func(a reader.KernelParam) bool { return a.Name == head })
}

// errPattern is why a pattern follows nothing in the kernel.
var errPattern = errors.New("what is behind pointers in the kernel is named in full, as file.f_inode.i_ino")

// bindMember reads a member of a structure, beside as many texts, and reports whether it is one.
func (sc *Schema) bindMember(f *shape.Field, m *kernfunc.Member, op operand.Operand, texts int) (text bool) {
	if m.Err != nil {
		f.Err = m.Err
		return false
	}
	var err error
	steps, size := m.Steps, m.Size
	if len(steps) == 0 {
		err = fmt.Errorf("%s is the argument itself", m.Name)
	} else if m.Inside {
		steps, size = steps[:len(steps)-1], 8 // of its address
	}
	for _, step := range steps {
		if err == nil {
			op, err = op.Followed(step)
		}
	}
	op.Size, op.Pointer = uint8(size), 8
	op = op.Field(m.Bits, m.BitsAbove, m.Signed)
	if m.Inside && err == nil {
		op, err = op.Added(m.Steps[len(steps)])
	}
	if err == nil && sc.Sig.Reads()+1+texts > record.MaxReads {
		err = errTooMany
	}
	if err != nil {
		f.Err = err
		return false
	}
	param := kernfunc.KnownParam(&m.KernelParam)
	f.Kind = kindOf(notes.Arg{Size: int(op.Size), Signed: m.Signed})
	if m.Bool {
		f.Kind = reader.Bool
	}
	sc.name(&param)
	f.Source, f.Size, f.Read = shape.FromRecord, op.ValueSize(), sc.Sig.Read(op)
	f.Offset = record.Slot(f.Read)
	return m.Text
}

// seeMember notes that a name of Options.Follow leads to what is read, or why it does not.
func (u *OptionUse) seeMember(name string, err error) {
	if u == nil {
		return
	}
	for i, follow := range u.follow {
		switch {
		case follow[strings.LastIndexByte(follow, ':')+1:] != name:
		case err == nil:
			u.usesFollow[i] = true
		case u.noFollow[i] == nil:
			u.noFollow[i] = err
		}
	}
}
