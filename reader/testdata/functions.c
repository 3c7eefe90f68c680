// Functions and what else symbol tables have. Compiled by the tests.
#include <stdio.h>

__attribute__((noinline)) int plain(int n) { return n + 1; }
int __alias(int n) __attribute__((alias("plain")));

static __attribute__((noinline)) int local(int n) { return n - 1; }

static int implementation(int n) { return 2 * n; }
static int (*choose(void))(int) { return implementation; }
int chosen(int) __attribute__((ifunc("choose")));

static __attribute__((cold, noinline)) int rare(int n) { return puts("many") + n; }

__attribute__((noinline)) int outlined(int n)
{
	if (n > 1000)
		n = rare(n) / rare(n + 1); // goes to outlined.cold
	return local(n);
}

int main(int argc, char **argv)
{
	return __alias(argc) + outlined(argc) + chosen(argc);
}
