// Probes with arguments of every form that compilers make of sys/sdt.h. The
// tests compile this file with several compilers, options and for two machines:
//
//	gcc -O2 -o args args.c
//	gcc -O2 -m32 -static -nostdlib -ffreestanding -DFREESTANDING -o args32 args.c
//
// -DSEMAPHORES gives every probe a semaphore and fires only while it is raised.
// The program fires once for each line that it reads, and answers with a line.

#ifdef SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
#endif
#include <sys/sdt.h>

#ifdef SEMAPHORES
#define SEMAPHORE(name) \
	unsigned short args_##name##_semaphore __attribute__((section(".probes")))
SEMAPHORE(ints);
SEMAPHORE(consts);
SEMAPHORE(memory);
SEMAPHORE(global);
SEMAPHORE(text);
SEMAPHORE(floats);
SEMAPHORE(bare);
#define ENABLED(name) __builtin_expect(*(volatile unsigned short *)&args_##name##_semaphore, 0)
#else
#define ENABLED(name) 1
#endif

#ifdef FREESTANDING
static long call3(long n, long a, long b, long c)
{
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}
#define read(fd, p, n) call3(3, fd, (long)(p), n)
#define write(fd, p, n) call3(4, fd, (long)(p), n)
#else
#include <unistd.h>
#endif

struct item {
	signed char s8;
	unsigned char u8;
	short s16;
	unsigned short u16;
	int s32;
	unsigned int u32;
	long long s64;
	unsigned long long u64;
};

struct item item = {-8, 200, -1600, 60000, -320000, 4000000000u, -64000000000LL, 0xfedcba9876543210ULL};

int global_int = -77;
static volatile short global_array[4] = {1, -2, 3, -4};
struct { int pad[10]; unsigned int counter; } global_stats = {{0}, 4242};
volatile double number = 2.5;
volatile float small = -0.25f;
const char *volatile words = "h\xc3\xa9llo";
const char *volatile nowhere = (const char *)16;

__attribute__((noinline)) void fire(struct item *p, volatile int *numbers, const volatile signed char *letters, long i)
{
	if (ENABLED(ints)) {
#if defined(__LP64__)
		DTRACE_PROBE8(args, ints, p->s8, p->u8, p->s16, p->u16, p->s32, p->u32, p->s64, p->u64);
#else
		DTRACE_PROBE6(args, ints, p->s8, p->u8, p->s16, p->u16, p->s32, p->u32);
#endif
	}
	if (ENABLED(consts))
		DTRACE_PROBE4(args, consts, -9, 4294967295u, 9223372036854775807LL, (unsigned char)255);
	if (ENABLED(memory))
		DTRACE_PROBE3(args, memory, numbers[i], letters[i], numbers[i + 1]);
	if (ENABLED(global))
		DTRACE_PROBE3(args, global, global_int, global_array[i], global_stats.counter);
	if (ENABLED(text))
		DTRACE_PROBE3(args, text, words, nowhere, i);
#if defined(__LP64__)
	if (ENABLED(floats))
		DTRACE_PROBE2(args, floats, number, small);
#endif
	if (ENABLED(bare))
		DTRACE_PROBE(args, bare);
}

int run(void)
{
	volatile int numbers[4] = {10, -20, 30, -40};
	volatile signed char letters[4] = {'a', 'b', 'c', 'd'};
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		fire(&item, numbers, letters, 1);
		if (write(1, "\n", 1) != 1)
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
