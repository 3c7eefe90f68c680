package codegen

import "github.com/cilium/ebpf/asm"

// exchange swaps src with the 8 bytes at dst+off.
func exchange(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.Xchg.Mem(dst, src, asm.DWord, off)
	// cilium/ebpf v0.22 encodes every atomic operation as an addition, unless
	// the constant says itself which it is (include/uapi/linux/bpf.h: BPF_XCHG).
	in.Constant = 0xe1
	return in
}

// fetchAdd is an addition that orders what is before and behind it.
func fetchAdd(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.AddAtomic.Mem(dst, src, asm.DWord, off)
	in.Constant = 0x01 // include/uapi/linux/bpf.h: BPF_ADD | BPF_FETCH
	return in
}
