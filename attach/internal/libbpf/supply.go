package libbpf

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// The functions of the header beside [ArgFunction].
const (
	countFunction  = "bpf_usdt_arg_cnt"
	cookieFunction = "bpf_usdt_cookie"
)

// Where [ownSpec] has what: bytes of an argument, and bytes of the spec behind all arguments.
const (
	ownArgs    = 12
	ownArgSize = 16

	ownValue   = 0
	ownReg     = 8
	ownIndex   = 10
	ownKind    = 12
	ownSigned  = 13
	ownShift   = 14
	ownScale   = 15
	ownCookie  = ownArgs * ownArgSize
	ownCount   = ownCookie + 8
	ownSize    = ownCount + 8
	ownEntries = 256
)

// The kinds of arguments in [ownSpec].
const (
	ownConst = iota
	ownRegister
	ownMemory
	ownIndexed
)

// ownSpec returns the type of the specs that the functions of [Supply] read.
func ownSpec() btf.Type {
	u8, u16, u64 := &btf.Int{Name: "unsigned char", Size: 1}, &btf.Int{Name: "unsigned short", Size: 2}, &btf.Int{Name: "unsigned long", Size: 8}
	kind := &btf.Enum{Name: "__bpf_usdt_arg_type", Size: 1, Values: []btf.EnumValue{
		{Name: "BPF_USDT_ARG_CONST", Value: ownConst}, {Name: "BPF_USDT_ARG_REG", Value: ownRegister},
		{Name: "BPF_USDT_ARG_REG_DEREF", Value: ownMemory}, {Name: "BPF_USDT_ARG_SIB", Value: ownIndexed},
	}}
	arg := &btf.Struct{Name: "__bpf_usdt_arg_spec", Size: ownArgSize, Members: []btf.Member{
		{Name: "val_off", Type: u64, Offset: 8 * ownValue}, {Name: "reg_off", Type: u16, Offset: 8 * ownReg},
		{Name: "idx_reg_off", Type: u16, Offset: 8 * ownIndex}, {Name: "arg_type", Type: kind, Offset: 8 * ownKind},
		{Name: "arg_signed", Type: u8, Offset: 8 * ownSigned}, {Name: "arg_bitshift", Type: u8, Offset: 8 * ownShift},
		{Name: "scale_bitshift", Type: u8, Offset: 8 * ownScale},
	}}
	args := &btf.Array{Index: &btf.Int{Name: "unsigned int", Size: 4}, Type: arg, Nelems: ownArgs}
	return &btf.Struct{Name: "__bpf_usdt_spec", Size: ownSize, Members: []btf.Member{
		{Name: "args", Type: args}, {Name: "usdt_cookie", Type: u64, Offset: 8 * ownCookie}, {Name: "arg_cnt", Type: u16, Offset: 8 * ownCount},
	}}
}

// Supply gives programs the functions of the header that they call and do not have, as programs
// that are written in Go do, and the spec the map that these functions read.
func Supply(spec *ebpf.CollectionSpec) error {
	for name, p := range spec.Programs {
		lacking := lackingFunctions(p.Instructions)
		if len(lacking) == 0 {
			continue
		}
		if m := spec.Maps[SpecMap]; m == nil {
			if spec.Maps == nil {
				spec.Maps = map[string]*ebpf.MapSpec{}
			}
			spec.Maps[SpecMap] = &ebpf.MapSpec{
				Name: SpecMap[:unix.BPF_OBJ_NAME_LEN-1], Type: ebpf.Array, KeySize: 4, ValueSize: ownSize, MaxEntries: ownEntries,
				Key: &btf.Int{Name: "unsigned int", Size: 4}, Value: ownSpec(),
			}
		} else if m.ValueSize != ownSize {
			return fmt.Errorf("program %s calls %s, whose specs are laid out in another way in this collection: load programs in C and in Go as two collections", name, lacking[0])
		}
		for _, function := range lacking {
			p.Instructions = append(p.Instructions, supplied[function](p.Flags&unix.BPF_F_SLEEPABLE != 0)...)
		}
	}
	return nil
}

// supplied has the functions, for programs that may sleep or not.
var supplied = map[string]func(sleeps bool) asm.Instructions{
	ArgFunction:    argFunction,
	countFunction:  func(bool) asm.Instructions { return ofSpec(countFunction, ownCount, asm.Half) },
	cookieFunction: func(bool) asm.Instructions { return ofSpec(cookieFunction, ownCookie, asm.DWord) },
}

// lackingFunctions returns which of the functions instructions call and do not have.
func lackingFunctions(ins asm.Instructions) (lacking []string) {
	called, defined := map[string]bool{}, map[string]bool{}
	for i := range ins {
		defined[ins[i].Symbol()] = true
		if ins[i].IsFunctionCall() {
			called[ins[i].Reference()] = true
		}
	}
	for _, function := range []string{ArgFunction, countFunction, cookieFunction} {
		if called[function] && !defined[function] {
			lacking = append(lacking, function)
		}
	}
	return lacking
}

// findSpec returns the instructions that put the address of the site's spec into R0, and go on at a
// label if there is none. R1 has the context. They change R1 to R5, and 4 bytes of the stack.
func findSpec(none string) asm.Instructions {
	return asm.Instructions{
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, 0).WithReference(SpecMap),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, none),
	}
}

// ofSpec returns a function of the context whose result is a word of the site's spec, or -ESRCH.
func ofSpec(name string, offset int16, size asm.Size) asm.Instructions {
	ins := findSpec(name + ".none")
	ins[0] = ins[0].WithSymbol(name)
	return append(ins,
		asm.LoadMem(asm.R0, asm.R0, offset, size),
		asm.Return(),
		asm.Mov.Imm(asm.R0, -int32(unix.ESRCH)).WithSymbol(name+".none"),
		asm.Return(),
	)
}

// argFunction returns bpf_usdt_arg: of the context, the number of an argument, and the address to
// store it at. Its results are the header's: 0, -ESRCH without a spec, -ENOENT without such
// an argument, -EINVAL for one that cannot be expressed, or the error of a read.
func argFunction(sleeps bool) asm.Instructions {
	const none, missing, invalid, value, memory, out = ArgFunction + ".none", ArgFunction + ".missing", ArgFunction + ".invalid",
		ArgFunction + ".value", ArgFunction + ".memory", ArgFunction + ".out"
	const word = -16 // where reads go, with 8 bytes behind it that none fills
	const address = -24
	copies := asm.FnProbeReadUser
	if sleeps {
		copies = asm.FnCopyFromUser
	}
	register := func(offset int16) asm.Instructions { // of the context, whose registers have no constant place
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, word),
			asm.Mov.Imm(asm.R2, 8),
			asm.LoadMem(asm.R4, asm.R9, offset, asm.Half),
			asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Reg(asm.R3, asm.R4),
			asm.FnProbeReadKernel.Call(),
			asm.JNE.Imm(asm.R0, 0, out),
		}
	}
	ins := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1).WithSymbol(ArgFunction), // the context
		asm.Mov.Reg(asm.R7, asm.R2),                         // the number, then the kind
		asm.Mov.Reg(asm.R8, asm.R3),                         // where to
		asm.Mov.Imm(asm.R5, 0),
		asm.StoreMem(asm.R8, 0, asm.R5, asm.DWord),
		asm.StoreMem(asm.RFP, word+8, asm.R5, asm.DWord),
	}
	ins = append(ins, findSpec(none)...)
	ins = append(ins,
		asm.Mov.Reg(asm.R9, asm.R0), // the spec, then the argument's
		asm.LoadMem(asm.R1, asm.R9, ownCount, asm.Half),
		asm.JGE.Reg(asm.R7, asm.R1, missing),
		asm.JGE.Imm(asm.R7, ownArgs, missing),
		asm.Mul.Imm(asm.R7, ownArgSize),
		asm.Add.Reg(asm.R9, asm.R7),
		asm.LoadMem(asm.R7, asm.R9, ownKind, asm.Byte),
		asm.JGT.Imm(asm.R7, ownIndexed, invalid),
		asm.LoadMem(asm.R1, asm.R9, ownValue, asm.DWord),
		asm.StoreMem(asm.RFP, word, asm.R1, asm.DWord),
		asm.JEq.Imm(asm.R7, ownConst, value),
	)
	ins = append(ins, register(ownReg)...)
	ins = append(ins,
		asm.JEq.Imm(asm.R7, ownRegister, value),
		asm.LoadMem(asm.R3, asm.RFP, word, asm.DWord),
		asm.LoadMem(asm.R1, asm.R9, ownValue, asm.DWord),
		asm.Add.Reg(asm.R3, asm.R1),
		asm.JNE.Imm(asm.R7, ownIndexed, memory),
		asm.StoreMem(asm.RFP, address, asm.R3, asm.DWord),
	)
	ins = append(ins, register(ownIndex)...)
	return append(ins,
		asm.LoadMem(asm.R1, asm.RFP, word, asm.DWord),
		asm.LoadMem(asm.R2, asm.R9, ownScale, asm.Byte),
		asm.LSh.Reg(asm.R1, asm.R2),
		asm.LoadMem(asm.R3, asm.RFP, address, asm.DWord),
		asm.Add.Reg(asm.R3, asm.R1),
		// Exactly the bytes of the value: there may be no memory behind them.
		asm.Mov.Imm(asm.R2, 64).WithSymbol(memory),
		asm.LoadMem(asm.R1, asm.R9, ownShift, asm.Byte),
		asm.Sub.Reg(asm.R2, asm.R1),
		asm.RSh.Imm(asm.R2, 3),
		asm.And.Imm(asm.R2, 15), // 1 to 8, which the verifier does not see
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, word),
		copies.Call(),
		asm.JNE.Imm(asm.R0, 0, out),
		asm.LoadMem(asm.R1, asm.RFP, word, asm.DWord).WithSymbol(value),
		asm.LoadMem(asm.R2, asm.R9, ownShift, asm.Byte),
		asm.LSh.Reg(asm.R1, asm.R2),
		asm.LoadMem(asm.R3, asm.R9, ownSigned, asm.Byte),
		asm.JEq.Imm(asm.R3, 0, value+".unsigned"),
		asm.ArSh.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R8, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
		asm.RSh.Reg(asm.R1, asm.R2).WithSymbol(value+".unsigned"),
		asm.StoreMem(asm.R8, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
		asm.Mov.Imm(asm.R0, -int32(unix.ESRCH)).WithSymbol(none),
		asm.Return(),
		asm.Mov.Imm(asm.R0, -int32(unix.ENOENT)).WithSymbol(missing),
		asm.Return(),
		asm.Mov.Imm(asm.R0, -int32(unix.EINVAL)).WithSymbol(invalid),
		asm.Return().WithSymbol(out),
	)
}
