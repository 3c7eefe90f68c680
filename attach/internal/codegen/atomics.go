package codegen

import "github.com/cilium/ebpf/asm"

// exchange swaps src with the 8 bytes at dst+off.
func exchange(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.Xchg.Mem(dst, src, asm.DWord, off)
	// cilium/ebpf v0.22 encodes every atomic operation as an addition, unless
	// the constant says which operation it is (include/uapi/linux/bpf.h:
	// BPF_XCHG).
	in.Constant = 0xe1
	return in
}

// fetchAdd is an addition that no memory access before or after it is moved
// across.
func fetchAdd(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.AddAtomic.Mem(dst, src, asm.DWord, off)
	in.Constant = 0x01 // include/uapi/linux/bpf.h: BPF_ADD | BPF_FETCH
	return in
}
