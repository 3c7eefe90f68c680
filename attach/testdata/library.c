// A library with a probe and its semaphore, and probes whose semaphores never
// count: gcc -O1 -shared -fPIC -Wl,-z,relro -o library.so library.c
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define SEMAPHORE(name, where) volatile unsigned short library_##name##_semaphore __attribute__((section(where)))
SEMAPHORE(tick, ".probes") = 0;
SEMAPHORE(relro, ".data.rel.ro") = 0;
volatile unsigned short library_bss_semaphore;

int fire(int i)
{
	int watched = library_tick_semaphore != 0;
	DTRACE_PROBE1(library, tick, i);
	DTRACE_PROBE(library, relro);
	DTRACE_PROBE(library, bss);
	return watched;
}
