//go:build !race

#include "textflag.h"

// Offsets in a shard, of 128 bytes.
#define STATE	0
#define CLOSED	4
#define HEAD	8
#define ROOM	16
#define AREA	24
#define MASK	32
#define PUBLIC	40
#define TAIL	48

// Offsets in a Record.
#define SITE	0
#define SIZE	4
#define TIME	8
#define BLOCK	16
#define BYTES	24
#define TEXTS	32
#define COUNT	40
#define LIMIT	48

// func put(first *shard, mask, how, number uint32, r *Record) Result
TEXT ·put(SB), NOSPLIT, $0-40
	MOVL	how+12(FP), BX
	MOVQ	r+24(FP), R15
	MOVQ	first+0(FP), R10
	MOVQ	TIME(R15), R12  // the time
	TESTL	$2, BX
	JZ	shared
	CMPL	CLOSED(R10), $0
	JEQ	locked
	MOVQ	$3, ret+32(FP)  // Closed
	RET

shared:
	// The clock comes before the lock, whose instruction would wait for it.
	TESTL	$1, BX
	JZ	timed
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, R12
timed:
	MOVQ	R10, R8
	MOVL	mask+8(FP), R9
	MOVL	number+16(FP), CX
	// R11 = the number of shards that follow, R13 = the result if none is free
	MOVL	R9, R11
	MOVL	$3, R13         // Closed
	MOVL	$1, DX          // held
try:
	ANDL	R9, CX
	MOVQ	CX, R10
	SHLQ	$7, R10
	ADDQ	R8, R10         // the shard
	XORL	AX, AX
	LOCK
	CMPXCHGL	DX, STATE(R10)
	JEQ	locked
	CMPL	AX, $2          // gone
	JEQ	next
	MOVL	$2, R13         // Contended
next:
	INCL	CX
	SUBL	$1, R11
	JCC	try
	MOVQ	R13, ret+32(FP)
	RET

locked:
	MOVQ	HEAD(R10), R8
	MOVQ	MASK(R10), R9
	MOVL	SIZE(R15), R11
	LEAQ	7(R11), SI
	ANDQ	$-8, SI         // its size in the shard
	MOVQ	R8, DI
	ANDQ	R9, DI          // its place
	LEAQ	(DI)(SI*1), AX
	LEAQ	1(R9), BX       // the size of the area
	XORL	CX, CX          // bytes that are left free at the end
	CMPQ	AX, BX
	JHI	wrap
placed:
	ADDQ	R8, SI
	ADDQ	CX, SI          // the next head
	CMPQ	SI, ROOM(R10)
	JHI	look
room:
	MOVQ	AREA(R10), DX
	TESTQ	CX, CX
	JNE	padding
begin:
	ADDQ	DX, DI
	MOVL	how+12(FP), BX
	MOVL	BX, AX
	ANDL	$3, AX
	CMPL	AX, $3
	JNE	header
	RDTSC                   // of an owned shard; what is dropped needs no time
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, R12
header:
	MOVL	SITE(R15), AX
	SHLQ	$32, AX
	ORQ	R11, AX
	MOVQ	AX, (DI)
	MOVQ	R12, 8(DI)
	ADDQ	$16, DI
	MOVQ	SI, R13         // the next head
	MOVQ	BLOCK(R15), SI
	MOVQ	BYTES(R15), CX
	TESTL	$4, BX
	JNE	gather
	TESTQ	$7, CX
	JNE	bytes
	CMPQ	CX, $256
	JHI	bytes
words:
	SUBQ	$8, CX
	JCS	texts
	MOVQ	(SI), AX
	MOVQ	AX, (DI)
	ADDQ	$8, SI
	ADDQ	$8, DI
	JMP	words
texts:
	MOVQ	COUNT(R15), R11
	TESTQ	R11, R11
	JNE	text
publish:
	MOVQ	PUBLIC(R10), AX
	MOVQ	8(AX), CX       // the number of records
	INCQ	CX
	MOVQ	R13, HEAD(R10)
	MOVQ	CX, 8(AX)
	MOVQ	R13, (AX)       // other CPUs see stores in their order
	MOVL	$0, STATE(R10)
	MOVQ	$0, ret+32(FP)
	RET

bytes:
	REP; MOVSB
	JMP	texts

gather:
	TESTL	$8, BX
	JZ	gatherWords
	MOVQ	(TLS), AX       // the goroutine
	MOVQ	AX, (DI)
	ADDQ	$8, DI
gatherWords:
	SUBQ	$8, CX
	JCS	publish
	MOVQ	(SI), AX
	MOVQ	(AX), AX
	MOVQ	AX, (DI)
	ADDQ	$8, SI
	ADDQ	$8, DI
	JMP	gatherWords

text:
	MOVQ	TEXTS(R15), R9  // R11 of them
	MOVQ	LIMIT(R15), R12
nextText:
	MOVQ	(R9), AX
	MOVQ	0(AX), SI
	MOVQ	8(AX), CX
	CMPQ	CX, R12
	CMOVQHI	R12, CX
	CMPQ	CX, $16
	JCS	short
	CMPQ	CX, $256
	JHI	long
	LEAQ	-16(SI)(CX*1), AX
	LEAQ	-16(DI)(CX*1), DX
	LEAQ	(DI)(CX*1), BX
	MOVOU	(AX), X1        // the last 16 bytes, which overlap those before
sixteen:
	MOVOU	(SI), X0
	MOVOU	X0, (DI)
	ADDQ	$16, SI
	ADDQ	$16, DI
	CMPQ	DI, DX
	JCS	sixteen
	MOVOU	X1, (DX)
	MOVQ	BX, DI
textDone:
	ADDQ	$8, R9
	DECQ	R11
	JNE	nextText
	JMP	publish
long:
	REP; MOVSB
	JMP	textDone
short:
	CMPQ	CX, $8
	JCS	under8
	MOVQ	(SI), AX
	MOVQ	-8(SI)(CX*1), BX
	MOVQ	AX, (DI)
	MOVQ	BX, -8(DI)(CX*1)
	ADDQ	CX, DI
	JMP	textDone
under8:
	CMPQ	CX, $4
	JCS	under4
	MOVL	(SI), AX
	MOVL	-4(SI)(CX*1), BX
	MOVL	AX, (DI)
	MOVL	BX, -4(DI)(CX*1)
	ADDQ	CX, DI
	JMP	textDone
under4:
	TESTQ	CX, CX
	JZ	textDone
	MOVBLZX	(SI), AX
	MOVB	AX, (DI)
	INCQ	SI
	INCQ	DI
	DECQ	CX
	JMP	under4

wrap:
	MOVQ	BX, CX
	SUBQ	DI, CX
	JMP	placed
padding:
	MOVL	$-1, AX
	SHLQ	$32, AX
	ORQ	CX, AX
	MOVQ	AX, (DX)(DI*1)
	XORL	DI, DI
	JMP	begin

look:
	MOVQ	TAIL(R10), AX
	TESTQ	AX, AX
	JZ	part
	MOVQ	(AX), AX        // the tracer's position
	MOVQ	R8, DX
	SUBQ	AX, DX
	CMPQ	DX, BX
	JHI	full            // it cannot be
	ADDQ	BX, AX
	MOVQ	AX, ROOM(R10)
	CMPQ	SI, AX
	JLS	room
full:
	MOVQ	PUBLIC(R10), AX
	MOVQ	16(AX), CX
	INCQ	CX
	MOVQ	CX, 16(AX)
	MOVL	$0, STATE(R10)
	MOVQ	$1, ret+32(FP)
	RET

part:
	MOVL	$0, STATE(R10)
	MOVQ	$4, ret+32(FP)  // next
	RET
