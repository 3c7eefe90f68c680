#include "textflag.h"

#define SYS_clone   220
#define SYS_exit    93
#define SYS_setpgid 154

// func clone(flags, trap, a1, a2, a3, a4, a5 uintptr, out *outcome) int64
//
// System calls keep all registers but R0. The third and later arguments of
// clone itself are read only with flags that are not set.
TEXT ·clone(SB), NOSPLIT, $0-72
	MOVD	flags+0(FP), R0
	MOVD	trap+8(FP), R9
	MOVD	a1+16(FP), R10
	MOVD	a2+24(FP), R11
	MOVD	a3+32(FP), R2
	MOVD	a4+40(FP), R3
	MOVD	a5+48(FP), R4
	MOVD	out+56(FP), R12
	MOVD	$0, R1          // the same stack pointer
	MOVD	$SYS_clone, R8
	SVC
	CBZ	R0, task
	MOVD	R0, ret+64(FP)
	RET
task:
	MOVD	$0, R0
	MOVD	$0, R1
	MOVD	$SYS_setpgid, R8
	SVC
	MOVD	R10, R0
	MOVD	R11, R1
	MOVD	R9, R8
	SVC
	MOVD	R0, 0(R12)
	MOVD	$1, R1
	MOVD	R1, 8(R12)
end:
	MOVD	$0, R0
	MOVD	$SYS_exit, R8
	SVC
	B	end
