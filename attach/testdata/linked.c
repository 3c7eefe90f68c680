// Probes in a file that linkers and other tools lay out in many ways:
//
//	gcc -O2 -g -o linked linked.c
//
// For each line that it reads the program fires once, and says line by line what it fired:
// the probe, and its arguments.
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <sys/sdt.h>

#define SEMAPHORE(name) __attribute__((visibility("hidden"), section(".probes"))) volatile unsigned short linked_##name##_semaphore
SEMAPHORE(data);
SEMAPHORE(guarded);

static int counter = -5;
int exported = 1000;
static volatile long table[4] = {11, -22, 33, -44};
static char room[5000000]; // far away
const char *volatile words = "some-text";

typedef int pick(int);
__attribute__((unused)) static int thrice(int n) { return 3 * n; }
#ifdef IFUNC
static pick *resolve(void) { return thrice; }
int chosen(int) __attribute__((ifunc("resolve")));
#else
#define chosen thrice
#endif

__attribute__((noinline, noclone)) int inner(int n, long i)
{
	counter += n;
	exported++;
	room[n] = chosen(n);
	DTRACE_PROBE6(linked, data, n, counter, exported, table[i & 3], words, room[n]);
	printf("data %d %d %d %ld %s %d\n", n, counter, exported, table[i & 3], words, room[n]);
	if (linked_guarded_semaphore) {
		DTRACE_PROBE1(linked, guarded, n * 7L);
		printf("guarded %ld\n", n * 7L);
	}
	return n + 1;
}

__attribute__((noinline, noclone)) int outer(int n) { return inner(n, n) + 1; }

int main(void)
{
	char line[16];
	for (int n = 1; fgets(line, sizeof line, stdin); n++) {
		n = outer(n) - 2;
		printf("done %d %d\n", linked_data_semaphore, linked_guarded_semaphore);
		fflush(stdout);
	}
}
