// Sells: reads how many orders are to be made, and writes how many nanoseconds of a CPU they took.

#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <sys/sdt.h>
#include <time.h>

unsigned short shop_order_semaphore __attribute__((section(".probes")));

static __attribute__((noinline)) void sell(long items, const int *cents)
{
	STAP_PROBE2(shop, order, items, *cents);
}

int main(void)
{
	volatile int price = -25;
	struct timespec begin, end;
	long n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%ld", &n) == 1) {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
		for (long i = 0; i < n; i++) {
			int cents = price;
			sell(i % 3, &cents);
		}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
		printf("%ld\n", (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec);
	}
	return 0;
}
