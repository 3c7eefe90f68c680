# Functions that begin with instructions which matter to uprobes:
# gcc -nostdlib -static -o entries entries.S
# Each is called once for each line that the program reads.

	.macro	function name, bytes:vararg
	.balign	64
	.globl	\name
	.type	\name, @function
\name:	.byte	\bytes
	ret
	.size	\name, .-\name
	.endm

	.text
	function nop5, 0x0f, 0x1f, 0x44, 0x00, 0x00
	function nop5_disp, 0x0f, 0x1f, 0x44, 0x00, 0x08
	function nop5_data16, 0x66, 0x0f, 0x1f, 0x40, 0x00
	function nop5_xchg, 0x66, 0x66, 0x66, 0x66, 0x90
	function nop5_rex, 0x48, 0x0f, 0x1f, 0x40, 0x00
	function nop4, 0x0f, 0x1f, 0x40, 0x00
	function nops, 0x90, 0x90, 0x90, 0x90, 0x90
	function endbr64, 0xf3, 0x0f, 0x1e, 0xfa
	function prefetch, 0x0f, 0x18, 0x44, 0x24, 0x00
	function locked, 0xf0, 0x48, 0x83, 0x04, 0x24, 0x00
	function cs_nop, 0x2e, 0x90
	function vmovd, 0xc5, 0xf9, 0x6e, 0xc6
	function vzeroupper, 0xc5, 0xf8, 0x77
	function in_port, 0xe4, 0x00
	function in_port2, 0xe4, 0x01

	.balign	64
	.globl	_start
	.type	_start, @function
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
	call	nop5
	call	nop5_disp
	call	nop5_data16
	call	nop5_xchg
	call	nop5_rex
	call	nop4
	call	nops
	call	endbr64
	call	prefetch
	call	locked
	call	cs_nop			# not vector instructions, which a CPU may lack, nor in
	mov	$1, %eax		# write(1, "\n", 1)
	mov	$1, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	syscall
	jmp	loop
exit:	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.size	_start, .-_start

	.section .note.GNU-stack, "", @progbits
