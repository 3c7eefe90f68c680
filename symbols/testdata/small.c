// A program without libraries, with inlined functions. testdata/small was made of it by
//
//	gcc -O2 -g -nostdlib -static -fno-asynchronous-unwind-tables -funwind-tables -Wl,--build-id -o small small.c
static volatile int sink;

static inline __attribute__((always_inline)) int twice(int n) { return n * 2 + sink; }
static inline __attribute__((always_inline)) int thrice(int n) { return twice(n) + n; }

__attribute__((noinline)) static int sum(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += thrice(i);
	return s;
}

__attribute__((noinline, cold)) static int fail(int n)
{
	sink = twice(n);
	return sum(n) - 1;
}

void _start(void)
{
	if (sink)
		sink = fail(sink);
	sink = sum(sink);
	for (;;)
		;
}
