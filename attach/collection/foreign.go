package collection

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/libbpf"
)

// adopt does to a spec that another loader has read from an object with usdt.bpf.h what
// [LoadSpec] does to the object: the kernel passes cookies, and the header's functions are
// checked with each call. It does nothing to a spec of LoadSpec.
func adopt(spec *ebpf.CollectionSpec) error {
	for _, p := range spec.Programs {
		nameTarget(p)
		typeMulti(p)
		for i := range p.Instructions {
			function := btf.FuncMetadata(&p.Instructions[i])
			if function == nil || function.Linkage != btf.GlobalFunc || !strings.HasPrefix(function.Name, libbpf.FunctionPrefix) {
				continue
			}
			static := *function
			static.Linkage = btf.StaticFunc
			p.Instructions[i] = btf.WithFuncMetadata(p.Instructions[i], &static)
		}
	}
	return answerCookies(spec)
}

// nameTarget has a program that was put together in Go attach to what its section names, as readers
// of objects do. Only these say for which byte order a program was compiled; where their AttachTo is
// empty, the caller has cleared it.
func nameTarget(p *ebpf.ProgramSpec) {
	if p.ByteOrder == nil && p.AttachTo == "" {
		_, p.AttachTo, _ = strings.Cut(p.SectionName, "/")
	}
}

// answerCookies lets programs read that the kernel passes cookies, which every kernel does that
// this module supports, where a loader has left the question to cilium/ebpf.
func answerCookies(spec *ebpf.CollectionSpec) error {
	var questions *btf.Datasec
	if spec.Types == nil || spec.Types.TypeByName(".kconfig", &questions) != nil {
		return nil
	}
	asked, others := false, []string{}
	for _, v := range questions.Vars {
		if name := v.Type.TypeName(); name != libbpf.CookieExtern {
			others = append(others, name)
		} else {
			asked = true
		}
	}
	if !asked {
		return nil
	}
	answered := false
	for _, p := range spec.Programs {
		for i := range p.Instructions {
			ins := &p.Instructions[i]
			if !ins.OpCode.IsDWordLoad() || ins.Src != asm.PseudoMapValue || ins.Reference() != "" || ins.Map() != nil {
				continue
			}
			if len(others) > 0 { // only cilium/ebpf knows which one is read here
				return fmt.Errorf("program %s reads %s beside what usdt.bpf.h asks, and the spec does not say where: read the object by collection.LoadSpec, or generate its loader by usdt2go",
					p.Name, strings.Join(others, ", "))
			}
			symbol, source := ins.Symbol(), ins.Source()
			function := btf.FuncMetadata(ins)
			*ins = asm.LoadMapValue(ins.Dst, 0, 0).WithReference(libbpf.AnswerSection).WithSymbol(symbol).WithSource(source)
			if function != nil {
				*ins = btf.WithFuncMetadata(*ins, function)
			}
			answered = true
		}
	}
	if answered {
		spec.Maps[libbpf.AnswerSection] = &ebpf.MapSpec{
			Name: libbpf.AnswerSection, Type: ebpf.Array, KeySize: 4, ValueSize: 1, MaxEntries: 1,
			Flags: unix.BPF_F_RDONLY_PROG, Contents: []ebpf.MapKV{{Key: uint32(0), Value: []byte{1}}},
		}
	}
	return nil
}
