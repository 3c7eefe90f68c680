// Text whose length is another argument, of every size, in a register, in
// memory and constant, also behind a pointer. Each line of the input fires once and is answered.
#include <stdint.h>
#include <sys/sdt.h>
#include <unistd.h>

static const char text[] = "counted\0text/without an end";
const char *volatile words = text;
const char *volatile nowhere = (const char *)16;
volatile int8_t byte = 4;
volatile uint16_t half = 12;
volatile int32_t negative = -1;
volatile int64_t all = sizeof text - 1;
volatile uint64_t huge = 1ull << 63;

static struct thing {
	long pad;
	const char *name;
} thing = {1, text}, bad = {2, (const char *)16};
struct thing *volatile things[] = {&thing, &bad, (struct thing *)16};

// The bits beside the byte in its register do not belong to the argument.
__attribute__((noinline)) void part(const char *s, uint8_t n) { __asm__ volatile("" : : "r"(s), "r"(n)); }
void (*volatile wide)(const char *, long) = (void (*)(const char *, long))part;

int main(void)
{
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		DTRACE_PROBE2(counted, byte, words, byte);
		DTRACE_PROBE3(counted, half, words, 1, half);
		DTRACE_PROBE2(counted, negative, words, negative);
		DTRACE_PROBE4(counted, two, words, all, words + 8, byte);
		DTRACE_PROBE2(counted, nowhere, nowhere, byte);
		DTRACE_PROBE2(counted, nothing, nowhere, 0);
		DTRACE_PROBE2(counted, constant, words, 9);
		DTRACE_PROBE2(counted, huge, words, huge);
		DTRACE_PROBE1(counted, bare, words);
		DTRACE_PROBE5(counted, followed, things[0], things[0], byte, things[1], things[2]);
		wide(words, 0x7f04);
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}
