// calls FUNCTION N calls a function N times, and says how much CPU time a call takes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __x86_64__
asm(".text; .globl nothing, pushes, copied; .type nothing,@function; .type pushes,@function; .type copied,@function\n"
    "nothing: nop; ret; .size nothing,.-nothing\n"
    "pushes: push %rbp; pop %rbp; ret; .size pushes,.-pushes\n"
    "copied: mov %rdi,%rax; ret; .size copied,.-copied\n");
#elif defined __aarch64__
asm(".text; .globl nothing, pushes, copied; .type nothing,%function; .type pushes,%function; .type copied,%function\n"
    "nothing: nop; ret; .size nothing,.-nothing\n"
    "pushes: stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret; .size pushes,.-pushes\n"
    "copied: mov x9, x0; ret; .size copied,.-copied\n");
#endif

extern void nothing(void), pushes(void), copied(void);

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
	void (*f)(void) = !strcmp(argv[1], "nothing") ? nothing : !strcmp(argv[1], "pushes") ? pushes : copied;
	long n = atol(argv[2]), begin = now();
	for (long i = 0; i < n; i++)
		f();
	fprintf(stderr, "calls: %ld ns each\n", (now() - begin) / n);
	return 0;
}
