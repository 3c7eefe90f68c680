// Pointers that are null: a text, one behind a pointer, and one with a length. Each line of the
// input fires once and is answered.
#include <sys/sdt.h>
#include <unistd.h>

const char *volatile text;
struct { long pad; const char *name; } *volatile thing;
volatile long length = 4;

int main(void)
{
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		DTRACE_PROBE1(null, text, text);
		DTRACE_PROBE1(null, behind, thing);
		DTRACE_PROBE2(null, counted, text, length);
		const void *inRegister = thing;
		__asm__ volatile("" : "+r"(inRegister));
		DTRACE_PROBE1(null, reg, inRegister);
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}
