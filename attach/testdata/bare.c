// A program whose probes fire in functions that have no frame pointer of their own, or none yet.
#include <alloca.h>
#include <stdio.h>
#include <string.h>
#include <sys/sdt.h>

#define NOINLINE __attribute__((noinline, noclone))
volatile int sink;

NOINLINE void leaf(void) { DTRACE_PROBE(bare, leaf); }

NOINLINE int pushes(int a, int b, int c)
{
	int x = sink, y = sink + b, z = sink * c;
	leaf();
	DTRACE_PROBE(bare, pushes);
	return x + y * 3 + z * 5 + a;
}

NOINLINE int variable(int n)
{
	char *p = alloca(n + 1);
	memset(p, n, n);
	DTRACE_PROBE(bare, variable);
	return p[n / 2];
}

NOINLINE int aligned(void)
{
	char p[64] __attribute__((aligned(64)));
	memset(p, sink, sizeof p);
	DTRACE_PROBE(bare, aligned);
	return p[sink & 63];
}

NOINLINE int recursive(int n)
{
	if (n == 0) {
		leaf();
		DTRACE_PROBE(bare, recursive);
		return sink;
	}
	return recursive(n - 1) + sink;
}

// wrapped tests n before it saves a register, so that the kernel does not recognise its entry.
NOINLINE int wrapped(int n)
{
	if (n == 0)
		return sink;
	return wrapped(n - 1) + sink * n;
}

NOINLINE int caller(int n)
{
	int r = pushes(n, 2, 3) + variable(n) + aligned() + recursive(3) + wrapped(3);
	sink += r;
	leaf();
	return r + 1;
}

int main(int argc, char **argv)
{
	getchar();
	sink += caller(argc);
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
