// Arguments that only 32-bit programs have: pairs of registers, addresses that
// wrap, offsets from the global offset table. It fires once for each line that
// it reads, and answers with a line:
//
//	gcc -O2 -m32 -fPIE -no-pie -static -nostdlib -ffreestanding -o i386 i386.c
#include <sys/sdt.h>

static long call3(long n, long a, long b, long c)
{
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}

static volatile short numbers[4] = {1, -2, 3, -4};
volatile unsigned value = 4242;
const char text[] = "text";

__attribute__((noinline)) void fire(long long a, unsigned long long b, int i)
{
	__asm__ volatile("" : "+r"(a)); // in registers
	DTRACE_PROBE2(wide, pairs, a, b);
	DTRACE_PROBE3(wide, table, numbers[i], numbers[1], text);
	__asm__ volatile(STAP_PROBE_ASM(wide, wrap, 4@value+16(%%eax) 2@-32(%%ecx,%%edx,4) -1@$-3)
		: : "a"(-16), "c"((long)&value - 0x7fffffe0), "d"(0x20000000));
}

void _start(void)
{
	char c;
	while (call3(3, 0, (long)&c, 1) == 1) {
		if (c != '\n')
			continue;
		fire(-64000000000LL, 0xfedcba9876543210ULL, 3);
		if (call3(4, 1, (long)&c, 1) != 1)
			break;
	}
	call3(1, 0, 0, 0);
}
