// Arguments of every kind that a prototype can name. Each line of the input fires once and
// is answered.
#include <stdint.h>
#include <stdbool.h>
#include <uchar.h>
#include <sys/sdt.h>
#include <unistd.h>

static const char text[] = "a text/and more";
static const char16_t wide[] = u"wörter \U0001F600 und mehr";
static struct thing {
	long pad;
	const char *name;
} thing = {1, text};

const char *volatile words = text;
const char *volatile missing = 0;
const char16_t *volatile wide_words = wide;
struct thing *volatile object = &thing;
volatile int32_t length = 6, negative = -5;
volatile uint8_t yes = 1;
volatile _Bool flag = 1;
volatile int64_t took = 1500000;
volatile uint32_t mode = 2;

int main(void)
{
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		DTRACE_PROBE1(named, terminated, words);
		DTRACE_PROBE3(named, counted, words, length, flag);
		DTRACE_PROBE2(named, followed, object, object);
		DTRACE_PROBE2(named, wide, wide_words, length);
		DTRACE_PROBE3(named, numbers, took, mode, (uintptr_t)negative);
		DTRACE_PROBE2(named, null, missing, (char *)0);
		DTRACE_PROBE2(named, partly, yes, negative);
		DTRACE_PROBE2(named, other, words, negative);
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}
