// Arguments of 16 bytes, which gcc passes in two registers:
//
//	gcc -O2 -o halves halves.c
//
// For each line that it reads, the program fires its probes once and answers
// with an empty line.

#include <stdio.h>
#include <sys/sdt.h>

struct pair {
	unsigned long first, second;
};

volatile unsigned long one = 1, two = 2;

__attribute__((noinline)) void fire(struct pair p, __int128 wide)
{
	DTRACE_PROBE2(halves, fired, p, wide);
}

int main(void)
{
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		struct pair p = {one << 40, two};
		fire(p, -(__int128)one);
		puts("");
		fflush(stdout);
	}
}
