#include "textflag.h"

// func Caller(above int) uintptr
TEXT ·Caller(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	above+0(FP), CX
	MOVQ	BP, AX          // the caller's: this function has no frame
up:
	TESTQ	CX, CX
	JLE	found
	MOVQ	(AX), AX
	DECQ	CX
	JMP	up
found:
	MOVQ	8(AX), AX       // the return address lies above the frame pointer
	MOVQ	AX, ret+8(FP)
	RET
