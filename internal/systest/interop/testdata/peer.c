// Measures a probe in C: read "MODE N" lines, answer with nanoseconds per
// round of a loop of N.
#define _SDT_HAS_SEMAPHORES 1
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sdt.h>
#include <time.h>

unsigned short peer_checked_semaphore __attribute__((section(".probes"), used));
unsigned short peer_site_semaphore __attribute__((section(".probes"), used));

// The stub that a Go provider generates, called from C.
void stub(uint64_t, uint64_t, uint64_t);
__asm__(".text\n.balign 8\n.globl stub\n.type stub, @function\n"
	"stub: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n ret\n.size stub, .-stub\n");

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void)
{
	char mode[32];
	unsigned long n;
	const char *text = "sixteen bytes ok";
	printf("ready\n");
	fflush(stdout);
	while (scanf("%31s %lu", mode, &n) == 2) {
		double start = now();
		if (!strcmp(mode, "empty")) {
			for (uint64_t i = 0; i < n; i++)
				__asm__ volatile("" : : "r"(i));
		} else if (!strcmp(mode, "checked")) {
			for (uint64_t i = 0; i < n; i++) {
				__asm__ volatile("" : : "r"(i));
				if (__builtin_expect(*(volatile unsigned short *)&peer_checked_semaphore, 0))
					STAP_PROBE3(peer, checked, i, text, i);
			}
		} else if (!strcmp(mode, "stub")) {
			for (uint64_t i = 0; i < n; i++)
				stub(i, i, i);
		} else if (!strcmp(mode, "site")) {
			for (uint64_t i = 0; i < n; i++)
				STAP_PROBE3(peer, site, i, i, i);
		}
		printf("%f\n", (now() - start) / n);
		fflush(stdout);
	}
	return 0;
}
