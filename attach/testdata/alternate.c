// Calls two functions by turns until its input ends. gcc -O1 -o alternate alternate.c
#include <poll.h>
#include <stdio.h>

static volatile long calls;

__attribute__((noinline)) void first(void) { calls++; }
__attribute__((noinline)) void second(void) { calls--; }

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	puts("ready");
	fflush(stdout);
	do {
		for (int i = 0; i < 100; i++) {
			first();
			second();
		}
	} while (poll(&input, 1, 0) == 0);
	return 0;
}
