# A program that means harm to whoever looks at it: names, arguments and the
# command's name hold escape sequences, newlines and code of other languages.
# gcc -nostdlib -static -o hostile hostile.S
# It fires all probes once for each line that it reads, and answers by one.

	.macro	note site:req, provider:req, name:req, args
	.pushsection .note.stapsdt,"","note"
	.balign	4
	.4byte	8, 2f-1f, 3
	.asciz	"stapsdt"
1:	.8byte	\site
	.8byte	0
	.8byte	0
	.asciz	"\provider"
	.asciz	"\name"
	.asciz	"\args"
2:	.balign	4
	.popsection
	.endm

	.text
	.globl	_start
_start:
	sub	$16, %rsp
	mov	$157, %eax		# prctl(PR_SET_NAME, comm)
	mov	$15, %edi
	lea	comm(%rip), %rsi
	syscall
loop:	xor	%eax, %eax		# read(0, rsp, 1)
	xor	%edi, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	syscall
	cmp	$1, %rax
	jne	exit
	cmpb	$'\n', (%rsp)
	jne	loop
	lea	text(%rip), %rdi
escape:	nop
	note	escape, "\033]0;title\007\033[2J", "a\nINJECTED \302\23331m", "8@%rdi 8@\033[31m\nINJECTED 8@x\033[2J(%rip)"
quote:	nop
	note	quote, "q\042: { exit(); } BEGIN { system(\042id\042); } //", "*/ int injected; /*", "8@%rdi"
shell:	nop
	note	shell, "$(touch /tmp/injected)", "`touch /tmp/injected`;%s%n", "8@%rdi"
bidi:	nop
	note	bidi, "\342\200\256evil", "\377\376", "8@%rdi"
	mov	$1, %eax		# write(1, "\n", 1)
	mov	$1, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	syscall
	jmp	loop
exit:	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.data
comm:	.asciz	"\033[2J\nINJECTED"
text:	.asciz	"\033[2Jtext\r\nINJECTED\302\233"
