# Probe sites of every shape that producers make: gcc -nostdlib -static -o nops nops.S
# Each fires once for each line that the program reads.

	.macro	note name:req, args
	.pushsection .note.stapsdt,"","note"
	.balign	4
	.4byte	8, 2f-1f, 3
	.asciz	"stapsdt"
1:	.8byte	site_\name
	.8byte	0
	.8byte	0
	.asciz	"nops"
	.asciz	"\name"
	.asciz	"\args"
2:	.balign	4
	.popsection
	.endm

	.text
	.globl	_start
_start:
	sub	$16, %rsp
loop:	xor	%eax, %eax		# read(0, rsp, 1)
	xor	%edi, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	syscall
	cmp	$1, %rax
	jne	exit
	cmpb	$'\n', (%rsp)
	jne	loop
	mov	$0x1122334455667788, %rdx
	movabs	$0x99aabbccddeeff00, %rbx
site_nop:
	nop
	note	nop, "8@%rdx 1@%dh 2@%dx -4@%edx 1@%bh 1@%xmm0 -4@%fs:x@tpoff"
site_nop_nop5:
	nop
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	note	nop_nop5, "8@value(%rip) 8@value+8(%rip)"
site_nop_nop10:
	nop
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	note	nop_nop10, "8@value(%rip)"
site_nop5:
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	note	nop5
site_nop10:
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	note	nop10
	mov	$1, %eax		# write(1, "\n", 1)
	mov	$1, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	syscall
	jmp	loop
exit:	mov	$60, %eax
	xor	%edi, %edi
	syscall
site_trap:
	int3
	note	trap

	.data
	.globl	value
value:	.8byte	1234, 5678
