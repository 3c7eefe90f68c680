// Sites whose arguments all lie at different places: gcc -O2 -o spread spread.c
#include <sys/sdt.h>

volatile long source[128];

#define SITE(n) DTRACE_PROBE1(spread, probe, at[n]);
#define TEN(n) SITE(n##0) SITE(n##1) SITE(n##2) SITE(n##3) SITE(n##4) SITE(n##5) SITE(n##6) SITE(n##7) SITE(n##8) SITE(n##9)

int main(void)
{
	volatile long at[128];
	for (int i = 0; i < 128; i++)
		at[i] = source[i];
	TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7)
	return 0;
}
