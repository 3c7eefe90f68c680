// Fires a probe as often as it is told. gcc -O2 -o ticks ticks.c
#include <sys/sdt.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
	char line[32];
	while (fgets(line, sizeof line, stdin)) {
		for (long n = atol(line); n > 0; n--)
			DTRACE_PROBE1(ticks, tick, n);
		puts("done");
		fflush(stdout);
	}
}
