// A program that is deep in a stack of many kinds of frames, and then waits: functions
// without frame pointers, a large frame, a call back from the C library, one on a
// stack whose size is found out only then, and a signal handler.
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void wait_here(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

__attribute__((noinline)) static void handler(int sig)
{
	wait_here();
	sink += sig;
}

__attribute__((noinline)) static int large(int n)
{
	char room[3000];
	memset(room, n, sizeof room);
	raise(SIGUSR1);
	return room[n] + sink;
}

__attribute__((noinline)) static int dynamic(int n)
{
	char *room = alloca(n * 16);
	memset(room, n, n * 16);
	sink = room[n];
	return large(n) + room[1];
}

static inline __attribute__((always_inline)) int inlined_twice(int n) { return dynamic(n) + 1; }
static inline __attribute__((always_inline)) int inlined(int n) { return inlined_twice(n + 1) * 2; }

static int compare(const void *a, const void *b)
{
	return inlined(*(const int *)a - *(const int *)b + 9) + sink;
}

__attribute__((noinline)) static int recurse(int n)
{
	if (n == 0) {
		int list[] = {3, 2};
		qsort(list, 2, sizeof list[0], compare);
		return list[0];
	}
	return recurse(n - 1) * 3 + sink;
}

int main(void)
{
	signal(SIGUSR1, handler);
	return recurse(5);
}
