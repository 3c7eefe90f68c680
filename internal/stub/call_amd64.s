#include "textflag.h"

// Offset of Block.Ptr: behind twelve slots of 8 bytes.
#define PTR 96

// func call(site *uintptr, b *Block, addresses uint64)
TEXT ·call(SB), 0, $0-24
	MOVQ	site+0(FP), R10
	MOVQ	(R10), R10
	TESTQ	R10, R10
	JZ	done
	MOVQ	b+8(FP), AX
	MOVQ	addresses+16(FP), BX
	TESTQ	BX, BX
	JZ	load
next:
	BSFQ	BX, CX          // the lowest bit is the next slot to fill
	MOVQ	PTR(AX)(CX*8), DX
	MOVQ	DX, (AX)(CX*8)
	LEAQ	-1(BX), DX
	ANDQ	DX, BX          // clear that bit
	JNZ	next
load:
	MOVQ	0(AX), DI
	MOVQ	8(AX), SI
	MOVQ	16(AX), DX
	MOVQ	24(AX), CX
	MOVQ	32(AX), R8
	MOVQ	40(AX), R9
	MOVQ	(TLS), R14      // g
	CALL	R10
done:
	RET

// func callAt(site *uintptr, block unsafe.Pointer, word uintptr)
TEXT ·callAt(SB), 0, $0-24
	MOVQ	site+0(FP), R10
	MOVQ	(R10), R10
	TESTQ	R10, R10
	JZ	done
	MOVQ	block+8(FP), AX
	MOVQ	word+16(FP), DI
	MOVQ	(TLS), R14      // g
	CALL	R10
done:
	RET
