// A program whose allocations are known, and told by the probes of OpenTelemetry's profiler.
#include <stdint.h>
#include <stdlib.h>
#include <sys/sdt.h>

static uintptr_t next = 0x1000;

__attribute__((noinline)) void keeps(size_t size)
{
	DTRACE_PROBE3(otel_memory, alloc, (void *)(next += 16), size, size);
}

__attribute__((noinline)) void drops(size_t size)
{
	void *ptr = (void *)(next += 16);

	DTRACE_PROBE3(otel_memory, alloc, ptr, size, size);
	DTRACE_PROBE1(otel_memory, free, ptr);
}

__attribute__((noinline)) void samples(size_t size)
{
	DTRACE_PROBE3(otel_memory, alloc, (void *)(next += 16), size, (size_t)524288);
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		keeps(1000);
	for (int i = 0; i < 20; i++)
		drops(500);
	samples(64);
	DTRACE_PROBE1(otel_memory, free, (void *)1); // never allocated
	return 0;
}
