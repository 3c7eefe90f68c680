#include "textflag.h"

// func Callers(pcs []uintptr) int
//
// R9 goes from frame to frame. Each lies above the one before, within the stack of the
// goroutine: other memory is not read, whoever has put another value into BP.
TEXT ·Callers(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ	pcs_base+0(FP), DI
	MOVQ	pcs_len+8(FP), CX
	MOVQ	(TLS), R8
	MOVQ	8(R8), R8 // g.stack.hi (runtime/runtime2.go)
	SUBQ	$16, R8
	MOVQ	SP, R10
	MOVQ	BP, R9
	XORL	AX, AX
	JMP	check
frame:
	MOVQ	8(R9), DX // the return address
	TESTQ	DX, DX
	JEQ	done
	MOVQ	DX, (DI)(AX*8)
	INCQ	AX
	MOVQ	R9, R10
	MOVQ	(R9), R9
check:
	CMPQ	AX, CX
	JGE	done
	CMPQ	R9, R10
	JLS	done
	CMPQ	R9, R8
	JHI	done
	TESTQ	$7, R9
	JEQ	frame
done:
	MOVQ	AX, ret+24(FP)
	RET
