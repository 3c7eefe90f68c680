# A leaf function whose red zone lives across its probe sites, one a bare nop5,
# one a nop before a nop5: gcc -nostdlib -static -o redzone redzone.S
# For each dot that the program reads it passes both sites 10,000 times, and it
# answers a line with one. It exits with status 3 if the red zone has changed.

	.macro	note name:req
	.pushsection .note.stapsdt,"","note"
	.balign	4
	.4byte	8, 2f-1f, 3
	.asciz	"stapsdt"
1:	.8byte	site_\name
	.8byte	0
	.8byte	0
	.asciz	"redzone"
	.asciz	"\name"
	.asciz	"8@-8(%rsp) 8@-128(%rsp)"
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
	je	answer
	mov	$10000, %ebx
again:	call	leaf
	dec	%ebx
	jnz	again
	jmp	loop
answer:	mov	$1, %eax		# write(1, "\n", 1)
	mov	$1, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	syscall
	jmp	loop
exit:	mov	$60, %eax
	xor	%edi, %edi
	syscall

leaf:	mov	$1, %ecx		# -8n(%rsp) = n
1:	mov	%rcx, %rax
	neg	%rax
	mov	%rcx, (%rsp,%rax,8)
	inc	%ecx
	cmp	$16, %ecx
	jbe	1b
site_combo:
	nop
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	note	combo
site_bare:
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	note	bare
	mov	$1, %ecx
2:	mov	%rcx, %rax
	neg	%rax
	cmp	%rcx, (%rsp,%rax,8)
	jne	bad
	inc	%ecx
	cmp	$16, %ecx
	jbe	2b
	ret
bad:	mov	$60, %eax
	mov	$3, %edi
	syscall
