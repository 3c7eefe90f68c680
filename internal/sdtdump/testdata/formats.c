// Probes with arguments of many forms.
#include <stdio.h>
#include <sys/sdt.h>

int numbers[64];
static long counter;

__attribute__((noinline)) long work(int i, unsigned char c, const char *s, double d, long a, long b, long on_stack)
{
	STAP_PROBE4(sdtdumptest, registers, i, c, s, d);
	STAP_PROBE3(sdtdumptest, memory, numbers[i], on_stack, counter);
	STAP_PROBE3(sdtdumptest, constants, -1, 123456789012345LL, (unsigned char)200);
	if (a > b)
		STAP_PROBE1(sdtdumptest, twice, a);
	else
		STAP_PROBE1(sdtdumptest, twice, -b);
	counter += i;
	return a + b;
}

int main(int argc, char **argv)
{
	STAP_PROBE(sdtdumptest, nothing);
	return work(argc, 'c', argv[0], 0.5, argc, 2, 3) == 77;
}
