// Sites of one probe whose arguments have other forms. gcc -O1 -o otherforms otherforms.c
#include <sys/sdt.h>
#include <stdio.h>

volatile double number = 1.5;
volatile int seven = 7;

int main(void) {
	char line[16];
	static char name[] = "name";
	char *volatile text = name;
	while (fgets(line, sizeof line, stdin)) {
		for (int i = 0; i < 3; i++) {
			DTRACE_PROBE2(otherforms, p, text, seven);
			DTRACE_PROBE2(otherforms, p, 0, number);
			DTRACE_PROBE2(otherforms, p, (char *)0, -2L);
			DTRACE_PROBE1(otherforms, p, text);
			DTRACE_PROBE2(otherforms, p, text, (long)i * i);
			DTRACE_PROBE1(otherforms, end, text);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
