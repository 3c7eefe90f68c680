// A program whose functions and probe version1.usdt has, see main.go.
#include <sys/sdt.h>
#include <unistd.h>

volatile long sum;

__attribute__((noinline)) long inner(const char *text, long n)
{
	DTRACE_PROBE3(calls, hit, text, n, (int)-n);
	return sum += n;
}

__attribute__((noinline)) long outer(const char *text, long n)
{
	return inner(text, n) + getppid() * 0;
}

int main(void)
{
	for (long n = 1; n <= 2; n++)
		outer("text", n);
	return 0;
}
