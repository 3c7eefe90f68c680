// A probe in a function that only .symtab names, and one whose argument is
// memory at a symbol. Compiled by the tests.
#include <sys/sdt.h>

int shared = 7;
static volatile int twice;
__thread volatile int per_thread = 1;

static __attribute__((noinline)) void only_in_symtab(int n)
{
	STAP_PROBE1(symbols, in_static, n);
}

int main(int argc, char **argv)
{
	only_in_symtab(argc);
	STAP_PROBE1(symbols, rip, shared);
	return twice++ + per_thread++;
}
