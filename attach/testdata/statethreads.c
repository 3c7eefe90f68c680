// A coroutine that is left and entered by two functions, as State Threads do it: one keeps the
// stack pointer, the other one loads it and jumps.
//
//	gcc -O1 -o statethreads statethreads.c
//
// For each line that it reads, the program answers with how often work went on, and how often it did
// so with other values than it had.
#include <stdio.h>

__asm__(".globl _st_md_cxt_save, _st_md_cxt_restore\n"
	".type _st_md_cxt_save, @function\n.type _st_md_cxt_restore, @function\n"
	"_st_md_cxt_save:\n"
	"mov %rbx,(%rdi); mov %rbp,8(%rdi); mov %r12,16(%rdi); mov %r13,24(%rdi); mov %r14,32(%rdi); mov %r15,40(%rdi)\n"
	"lea 8(%rsp),%rdx; mov %rdx,48(%rdi); mov (%rsp),%rdx; mov %rdx,56(%rdi); xor %eax,%eax; ret\n"
	".size _st_md_cxt_save, .-_st_md_cxt_save\n"
	"_st_md_cxt_restore:\n"
	"mov (%rdi),%rbx; mov 8(%rdi),%rbp; mov 16(%rdi),%r12; mov 24(%rdi),%r13; mov 32(%rdi),%r14; mov 40(%rdi),%r15\n"
	"mov %esi,%eax; mov 56(%rdi),%rdx; mov 48(%rdi),%rsp; jmp *%rdx\n"
	".size _st_md_cxt_restore, .-_st_md_cxt_restore\n");

__attribute__((returns_twice)) int _st_md_cxt_save(long *to);
__attribute__((noreturn)) void _st_md_cxt_restore(long *from, int value);

static long contexts[2][8], stack[8192] __attribute__((aligned(16)));
static volatile int done, wrong;

static void go(int from, int to)
{
	if (!_st_md_cxt_save(contexts[from]))
		_st_md_cxt_restore(contexts[to], 1);
}

// work is left in the middle.
__attribute__((noinline)) int work(int who, int n)
{
	go(who, !who);
	done++;
	return n + 1;
}

static void other(void)
{
	for (int i = 0;; i++)
		if (work(1, i) != i + 1)
			wrong++;
}

int main(void)
{
	contexts[1][6] = (long)&stack[8180] - 8;
	contexts[1][7] = (long)other;
	char line[32];
	while (fgets(line, sizeof line, stdin)) {
		done = wrong = 0;
		for (int i = 0; i < 100; i++)
			if (work(0, i) != i + 1)
				wrong++;
		printf("done %d wrong %d\n", done, wrong);
		fflush(stdout);
	}
}
