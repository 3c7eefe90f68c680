// Calls that other calls leave by longjmp, and calls that call themselves:
//
//	gcc -O0 -o jumps jumps.c
//
// For each line "N" that it reads, the program calls outer, which waits and then
// is returned to from N nested calls of inner at once, and answers with a line.

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static jmp_buf back;

__attribute__((noinline)) void inner(int n)
{
	if (n <= 1)
		longjmp(back, 1);
	inner(n - 1);
}

__attribute__((noinline)) void outer(int n)
{
	usleep(20000);
	if (setjmp(back) == 0)
		inner(n);
}

__attribute__((noinline)) int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }

int main(void)
{
	char line[32];
	while (fgets(line, sizeof line, stdin)) {
		int n = atoi(line);
		outer(n);
		printf("%d\n", depth(n));
		fflush(stdout);
	}
}
