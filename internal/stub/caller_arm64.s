#include "textflag.h"

// func Caller(above int) uintptr
TEXT ·Caller(SB), NOSPLIT|NOFRAME, $0-16
	MOVD	above+0(FP), R1
	MOVD	R29, R0         // the caller's: this function has no frame
up:
	CMP	$0, R1
	BLE	found
	MOVD	(R0), R0
	SUB	$1, R1
	B	up
found:
	MOVD	8(R0), R0       // the return address lies above the frame pointer
	MOVD	R0, ret+8(FP)
	RET
