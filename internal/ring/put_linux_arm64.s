//go:build !race

#include "textflag.h"

// Offsets in a shard, of 128 bytes, which begins with its lock.
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
	MOVWU	how+12(FP), R0
	MOVD	r+24(FP), R2
	MOVD	first+0(FP), R9
	MOVD	TIME(R2), R4    // the time
	TBZ	$0, R0, timed
	MRS	CNTVCT_EL0, R4
timed:
	TBZ	$1, R0, shared
	MOVWU	CLOSED(R9), R5
	CBZ	R5, locked
	MOVD	$3, R8          // Closed
	MOVD	R8, ret+32(FP)
	RET

shared:
	MOVD	R9, R3
	MOVWU	mask+8(FP), R1
	MOVWU	number+16(FP), R5
	// R7 = the number of shards that follow, R8 = the result if none is free
	MOVD	R1, R7
	MOVD	$3, R8          // Closed
	MOVD	$1, R11         // held
try:
	AND	R1, R5, R5
	ADD	R5<<7, R3, R9   // the shard
again:
	LDAXRW	(R9), R10
	CBNZW	R10, taken
	STLXRW	R11, (R9), R12
	CBNZW	R12, again
	B	locked
taken:
	CLREX
	CMPW	$2, R10         // gone
	BEQ	next
	MOVD	$2, R8          // Contended
next:
	ADD	$1, R5, R5
	SUBS	$1, R7, R7
	BGE	try
	MOVD	R8, ret+32(FP)
	RET

locked:
	MOVD	HEAD(R9), R5
	MOVD	MASK(R9), R6
	MOVWU	SIZE(R2), R7
	ADD	$7, R7, R8
	AND	$~7, R8, R8     // its size in the shard
	AND	R6, R5, R10     // its place
	ADD	R8, R10, R11
	ADD	$1, R6, R12     // the size of the area
	MOVD	$0, R13         // bytes that are left free at the end
	CMP	R12, R11
	BHI	wrap
placed:
	ADD	R5, R8, R8
	ADD	R13, R8, R8     // the next head
	MOVD	ROOM(R9), R14
	CMP	R14, R8
	BHI	look
room:
	MOVD	AREA(R9), R15
	CBNZ	R13, padding
begin:
	ADD	R15, R10, R10
	MOVWU	SITE(R2), R14
	ORR	R14<<32, R7, R14
	MOVD	R14, (R10)
	MOVD	R4, 8(R10)
	ADD	$16, R10, R10
	MOVD	BLOCK(R2), R11
	MOVD	BYTES(R2), R12
	TBNZ	$2, R0, gather
words:
	SUBS	$8, R12, R12
	BLT	rest
	MOVD.P	8(R11), R14
	MOVD.P	R14, 8(R10)
	B	words
rest:
	ADDS	$8, R12, R12
	BEQ	texts
bytes:
	MOVBU.P	1(R11), R14
	MOVB.P	R14, 1(R10)
	SUBS	$1, R12, R12
	BNE	bytes
texts:
	MOVD	COUNT(R2), R13
	CBZ	R13, publish
	MOVD	TEXTS(R2), R16
	MOVD	LIMIT(R2), R17
text:
	MOVD.P	8(R16), R14
	MOVD	0(R14), R11
	MOVD	8(R14), R12
	CMP	R17, R12
	CSEL	HI, R17, R12, R12
textWords:
	SUBS	$8, R12, R12
	BLT	textRest
	MOVD.P	8(R11), R14
	MOVD.P	R14, 8(R10)
	B	textWords
textRest:
	ADDS	$8, R12, R12
	BEQ	textDone
textBytes:
	MOVBU.P	1(R11), R14
	MOVB.P	R14, 1(R10)
	SUBS	$1, R12, R12
	BNE	textBytes
textDone:
	SUBS	$1, R13, R13
	BNE	text
publish:
	MOVD	PUBLIC(R9), R11
	MOVD	8(R11), R12     // the number of records
	ADD	$1, R12, R12
	MOVD	R8, HEAD(R9)
	MOVD	R12, 8(R11)
	STLR	R8, (R11)       // behind all that is in the record
	STLRW	ZR, (R9)
	MOVD	ZR, ret+32(FP)
	RET

gather:
	TBZ	$3, R0, gatherWords
	MOVD	g, R14          // the goroutine
	MOVD.P	R14, 8(R10)
gatherWords:
	SUBS	$8, R12, R12
	BLT	publish
	MOVD.P	8(R11), R14
	MOVD	(R14), R14
	MOVD.P	R14, 8(R10)
	B	gatherWords

wrap:
	SUB	R10, R12, R13
	B	placed
padding:
	MOVD	$0xffffffff00000000, R14
	ORR	R13, R14, R14
	ADD	R10, R15, R11
	MOVD	R14, (R11)
	MOVD	$0, R10
	B	begin

look:
	MOVD	TAIL(R9), R11
	CBZ	R11, part
	LDAR	(R11), R11      // the tracer's position
	SUB	R11, R5, R14
	CMP	R12, R14
	BHI	full            // it cannot be
	ADD	R12, R11, R14
	MOVD	R14, ROOM(R9)
	CMP	R14, R8
	BLS	room
full:
	MOVD	PUBLIC(R9), R11
	MOVD	16(R11), R12
	ADD	$1, R12, R12
	MOVD	R12, 16(R11)
	STLRW	ZR, (R9)
	MOVD	$1, R12
	MOVD	R12, ret+32(FP)
	RET

part:
	STLRW	ZR, (R9)
	MOVD	$4, R12         // next
	MOVD	R12, ret+32(FP)
	RET
