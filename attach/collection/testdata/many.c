// One probe with 400 sites of different arguments, and each of them twice: more
// than the 256 argument specs that usdt.bpf.h has room for.
//
//	gcc -O2 -o many many.c
//
// The program fires all for each line that it reads, and answers with a line.

#include <sys/sdt.h>
#include <unistd.h>

#define SITE(n) DTRACE_PROBE2(many, probe, n, -n); DTRACE_PROBE2(many, probe, n, -n);
#define TEN(n) SITE(n##0) SITE(n##1) SITE(n##2) SITE(n##3) SITE(n##4) SITE(n##5) SITE(n##6) SITE(n##7) SITE(n##8) SITE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)

int main(void)
{
	char c;
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		HUNDRED(1)
		HUNDRED(2)
		HUNDRED(3)
		HUNDRED(4)
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}
