#include "textflag.h"

// func Callers(pcs []uintptr) int
//
// R9 goes from frame to frame. Each lies above the one before, within the stack of the
// goroutine: other memory is not read, whoever has put another value into R29.
TEXT ·Callers(SB), NOSPLIT|NOFRAME, $0-32
	MOVD	pcs_base+0(FP), R0
	MOVD	pcs_len+8(FP), R1
	MOVD	8(g), R8 // g.stack.hi (runtime/runtime2.go)
	SUB	$16, R8
	MOVD	RSP, R10
	SUB	$16, R10 // the caller's frame pointer is stored below its frame
	MOVD	R29, R9
	MOVD	$0, R2
	B	check
frame:
	MOVD	8(R9), R3 // the return address
	CBZ	R3, done
	MOVD	R3, (R0)
	ADD	$8, R0
	ADD	$1, R2
	MOVD	R9, R10
	MOVD	(R9), R9
check:
	CMP	R1, R2
	BGE	done
	CMP	R10, R9
	BLS	done
	CMP	R8, R9
	BHI	done
	TST	$7, R9
	BEQ	frame
done:
	MOVD	R2, ret+24(FP)
	RET
