// Functions to trace. The tests compile this file with several compilers and
// for two machines:
//
//	gcc -O2 -o functions functions.c
//	gcc -O2 -m32 -static -nostdlib -ffreestanding -DFREESTANDING -o functions32 functions.c
//
// For each line that it reads, the program calls every function once and
// answers with a line of what they returned.

#ifdef FREESTANDING
static long call3(long n, long a, long b, long c)
{
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}
#define read(fd, p, n) call3(3, fd, (long)(p), n)
#define write(fd, p, n) call3(4, fd, (long)(p), n)
#define getppid() call3(64, 0, 0, 0)
#else
#include <unistd.h>
#endif

#define NOINLINE __attribute__((noinline))

NOINLINE long sum8(long a, long b, long c, long d, long e, long f, long g, long h)
{
	__asm__ volatile("");
	return a + b + c + d + e + f + g + h;
}

long __sum_alias(long, long, long, long, long, long, long, long) __attribute__((alias("sum8")));

NOINLINE long negative(long n)
{
	__asm__ volatile("");
	return -n;
}

NOINLINE long length(const char *s)
{
	long n = 0;
	while (s[n])
		n++;
	return n;
}

NOINLINE long factorial(long n);
static long (*volatile again)(long) = factorial; // or it becomes a loop

NOINLINE long factorial(long n)
{
	return n < 2 ? 1 : n * again(n - 1);
}

// The upper half of the register is not the result's.
NOINLINE int small(int n)
{
	__asm__ volatile("");
	return -n;
}

NOINLINE const char *word(long n)
{
	__asm__ volatile("");
	return n > 0 ? "positive" : "negative";
}

volatile long one = 1, parent;
const char *volatile text = "h\xc3\xa9llo";

static char line[256];
static long used;

static void put(long v)
{
	char digits[24];
	int n = 0;
	unsigned long u = v < 0 ? -(unsigned long)v : v;
	if (v < 0)
		line[used++] = '-';
	do
		digits[n++] = '0' + u % 10;
	while (u /= 10);
	while (n > 0)
		line[used++] = digits[--n];
	line[used++] = ' ';
}

static int run(void)
{
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		used = 0;
		long n = one;
		parent = getppid();
		put(sum8(n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n, -8 * n));
		put(negative(5 * n));
		put(length(text));
		put(factorial(5 * n));
		small(6 * n);
		line[used++] = word(n)[0];
		line[used++] = '\n';
		if (write(1, line, used) != used)
			return 1;
	}
	return 0;
}

#ifdef FREESTANDING
void _start(void)
{
	call3(1, run(), 0, 0);
}
#else
int main(void) { return run(); }
#endif
