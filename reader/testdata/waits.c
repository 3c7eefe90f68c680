// A program with a probe that waits for its input to end. Compiled by the tests.
#include <sys/sdt.h>
#include <unistd.h>

int main(void)
{
	char c;
	STAP_PROBE(waits, waiting);
	write(1, "ready\n", 6);
	return read(0, &c, 1) > 0;
}
