// fires HOW N fires a probe N times, and says how much CPU time each takes with the work around it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <time.h>

static volatile unsigned long sum = 88172645463325252;

static void work(void)
{
	unsigned long x = sum; // in a register: processors learn to do without the memory, and forget that in a trap
	for (int i = 0; i < 60; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sum = x;
}

__attribute__((noinline)) static void called(long n, const char *text)
{
	DTRACE_PROBE2(fires, called, n, text);
}

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = atol(argv[2]), begin = now();
	if (!strcmp(argv[1], "loop"))
		for (long i = 0; i < n; i++) {
			work();
			DTRACE_PROBE2(fires, loop, i, "a text of some thirty-two bytes");
		}
	else
		for (long i = 0; i < n; i++) {
			work();
			called(i, "a text of some thirty-two bytes");
		}
	fprintf(stderr, "calls: %ld ns each\n", (now() - begin) / n);
	return 0;
}
