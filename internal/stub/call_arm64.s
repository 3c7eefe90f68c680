#include "textflag.h"

// Offset of Block.Ptr: behind twelve slots of 8 bytes.
#define PTR 96

// func call(site *uintptr, b *Block, addresses uint64)
TEXT ·call(SB), 0, $0-24
	MOVD	site+0(FP), R13
	MOVD	(R13), R13
	CBZ	R13, done
	MOVD	b+8(FP), R8
	MOVD	addresses+16(FP), R9
	CBZ	R9, load
	ADD	$PTR, R8, R10
next:
	RBIT	R9, R11
	CLZ	R11, R11        // the lowest bit is the next slot to fill
	MOVD	(R10)(R11<<3), R12
	MOVD	R12, (R8)(R11<<3)
	SUB	$1, R9, R12
	AND	R12, R9         // clear that bit
	CBNZ	R9, next
load:
	LDP	0(R8), (R0, R1)
	LDP	16(R8), (R2, R3)
	LDP	32(R8), (R4, R5)
	LDP	48(R8), (R6, R7)
	CALL	(R13)
done:
	RET

// func callAt(site *uintptr, block unsafe.Pointer, word uintptr)
TEXT ·callAt(SB), 0, $0-24
	MOVD	site+0(FP), R13
	MOVD	(R13), R13
	CBZ	R13, done
	MOVD	block+8(FP), R8
	MOVD	word+16(FP), R0
	CALL	(R13)
done:
	RET
