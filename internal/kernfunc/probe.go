package kernfunc

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// unread stands for an argument that cannot be read, which no note has.
const unread = "?"

// Probe returns the entry of a function, or the return from it, as a probe that is called name.
func (t *Table) Probe(f *Function, kind reader.ProbeKind, name string) reader.Probe {
	p := reader.Probe{
		Note:    notes.Note{Provider: f.Module, Name: name, Location: f.Address},
		Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, ByteOrder: binary.LittleEndian, Offset: f.Address, Kind: kind,
	}
	if runtime.GOARCH == "arm64" {
		p.Machine = elf.EM_AARCH64
	}
	if f.Copies > 1 {
		p.Name = fmt.Sprintf("%s@%#x", name, f.Address)
	}
	called := p.Name
	p.Kernel = reader.NewKernelFunction(func() reader.KernelTypes { return t.describe(f, kind, called) })
	p.Kernel.Uncertain = f.Uncertain
	p.Kernel.Form = func() string { return t.formAt(f, kind) }
	return p
}

// describe returns what is known of a function's arguments, or of its result. Other messages name it as
// called.
func (t *Table) describe(f *Function, kind reader.ProbeKind, called string) (k reader.KernelTypes) {
	proto, err := t.Prototype(f)
	if err != nil {
		k.Err, k.NoTrampoline = err, fmt.Errorf("%w, which a trampoline takes: kprobe: needs none", err)
		return k
	}
	k.Declaration, k.Type, k.TypeID = proto.String(f.Name), proto.Type, proto.ID
	if f.Copies > 1 {
		k.NoTrampoline = fmt.Errorf("%d functions have its name, and the kernel's types do not say which one is meant: kprobe:%s", f.Copies, called)
	}
	// The kernel refuses these by the function's type: kernel/bpf/btf.c, btf_distill_func_proto.
	switch {
	case k.NoTrampoline != nil:
	case proto.More:
		k.NoTrampoline = errors.New("it takes any number of arguments, which no trampoline passes on: kprobe: needs none")
	case proto.ByValue:
		k.NoTrampoline = errors.New("it returns a structure, which no trampoline passes on: kprobe: needs none")
	}
	params, places := proto.Params, proto.Places(runtime.GOARCH)
	if kind.ByTrampoline() {
		places = proto.Saved(runtime.GOARCH)
	}
	if kind.IsReturn() && kind.HasArguments() && proto.Result != nil {
		params, places = append(slices.Clone(params), *proto.Result), append(places, proto.savedResult(runtime.GOARCH))
	}
	if !kind.HasArguments() {
		for i := range params {
			k.Gone = append(k.Gone, params[i].Name)
		}
		params, places = nil, nil
		if proto.Result != nil {
			params, places = []Param{*proto.Result}, []string{proto.ResultPlace(runtime.GOARCH)}
		}
	}
	if len(params) > 0 {
		k.Params = make([]reader.KernelParam, 0, len(params))
	}
	for i := range params {
		param := describe(&params[i])
		if places[i] == "" {
			places[i] = unread
			param.Err = fmt.Errorf("a %s is no number of up to 8 bytes", param.Type)
			if params[i].Kind != Other {
				param.Err = fmt.Errorf("of a call by a trampoline the first %d words of arguments are read: kprobe: reads others", MaxSaved)
			}
		}
		k.Params = append(k.Params, param)
	}
	k.Args = strings.Join(places, " ")
	return k
}

func describe(a *Param) reader.KernelParam {
	return reader.KernelParam{
		Name: a.Name, Type: a.Type, TypeID: a.ID, Size: a.Size, Signed: a.Signed, Bool: a.Kind == Bool,
		Text: a.Kind == Text, Pointer: a.Kind == Text || a.Kind == Pointer, Enum: a.Enum, Values: a.Values,
	}
}

// Known returns what is known of a probe's arguments as a prototype, nil if it is not the kernel's
// or nothing is known.
func Known(p *reader.Probe) *prototype.Prototype {
	if p == nil || p.Kernel == nil || p.Kind.HasFields() {
		return nil
	}
	types := p.Kernel.Types()
	if types.Err != nil {
		return nil
	}
	out := &prototype.Prototype{Provider: p.Provider, Name: p.Name, Params: make([]prototype.Param, 0, len(types.Params))}
	for i := range types.Params {
		out.Params = append(out.Params, KnownParam(&types.Params[i]))
	}
	return out
}

// KnownParam returns what is known of an argument as a prototype has it.
func KnownParam(a *reader.KernelParam) prototype.Param {
	param := prototype.Param{Name: a.Name, Type: a.Type, Kind: prototype.Unsigned, Size: a.Size, Length: -1}
	switch {
	case a.Bool:
		param.Kind = prototype.Bool
	case a.Pointer:
		param.Kind = prototype.Pointer
	case len(a.Values) > 0:
		param.Kind, param.Enum = prototype.Enumeration, prototype.NewEnum(a.Enum)
		for _, v := range a.Values {
			param.Enum.Add(v.Name, v.Value)
		}
	case a.Signed:
		param.Kind = prototype.Signed
	}
	return param
}
