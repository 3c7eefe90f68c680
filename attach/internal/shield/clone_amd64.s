#include "textflag.h"

#define SYS_clone   56
#define SYS_exit    60
#define SYS_setpgid 109

// func clone(flags, trap, a1, a2, a3, a4, a5 uintptr, out *outcome) int64
//
// The task needs only registers that system calls keep. The third and
// later arguments of clone itself are read only with flags that are not set.
TEXT ·clone(SB), NOSPLIT, $0-72
	MOVQ	flags+0(FP), DI
	MOVQ	trap+8(FP), R12
	MOVQ	a1+16(FP), R13
	MOVQ	a2+24(FP), BX
	MOVQ	a3+32(FP), DX
	MOVQ	a4+40(FP), R10
	MOVQ	a5+48(FP), R8
	MOVQ	out+56(FP), R9
	XORL	SI, SI          // the same stack pointer
	MOVL	$SYS_clone, AX
	SYSCALL
	TESTQ	AX, AX
	JZ	task
	MOVQ	AX, ret+64(FP)
	RET
task:
	XORL	DI, DI
	XORL	SI, SI
	MOVL	$SYS_setpgid, AX
	SYSCALL
	MOVQ	R12, AX
	MOVQ	R13, DI
	MOVQ	BX, SI
	SYSCALL
	MOVQ	AX, 0(R9)
	MOVQ	$1, 8(R9)
end:
	XORL	DI, DI
	MOVL	$SYS_exit, AX
	SYSCALL
	JMP	end
