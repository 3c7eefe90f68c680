// Fires worker:step with 1, 2, 3 … 1000 when it gets a line, and says when it has: gcc -g worker.c
#include <stdio.h>
#include <sys/sdt.h>

volatile long steps;

__attribute__((noinline)) void step(long n) {
	steps = n;
	DTRACE_PROBE1(worker, step, n);
}

int main(void) {
	char line[80];
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		for (long n = 1; n <= 1000; n++)
			step(n);
		puts("done");
	}
	return 0;
}
