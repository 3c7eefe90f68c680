// Fires probes made by sys/sdt.h, of the same shapes and with the same
// arguments as testdata/shapes, over and over. It compiles as C and as C++:
//
//	cc -O2 shapes.c                   STAP_PROBE
//	cc -O2 -DSEMAPHORES shapes.c      DTRACE_PROBE with semaphores
//	dtrace -h -s shapes.d && dtrace -G -s shapes.d && cc -O2 -DDTRACE shapes.c shapes.o
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(DTRACE)

#include "shapes.h"

#elif defined(SEMAPHORES)

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#ifdef __cplusplus
extern "C" {
#endif
#define SEMAPHORE(name) \
	unsigned short shapes_##name##_semaphore __attribute__((section(".probes"), used))
SEMAPHORE(zero);
SEMAPHORE(three);
SEMAPHORE(six);
SEMAPHORE(eight);
SEMAPHORE(twelve);
SEMAPHORE(text);
SEMAPHORE(record);
#ifdef __cplusplus
}
#endif
#define ENABLED(name) __builtin_expect(*(volatile unsigned short *)&shapes_##name##_semaphore, 0)
#define SHAPES_ZERO_ENABLED() ENABLED(zero)
#define SHAPES_THREE_ENABLED() ENABLED(three)
#define SHAPES_SIX_ENABLED() ENABLED(six)
#define SHAPES_EIGHT_ENABLED() ENABLED(eight)
#define SHAPES_TWELVE_ENABLED() ENABLED(twelve)
#define SHAPES_TEXT_ENABLED() ENABLED(text)
#define SHAPES_RECORD_ENABLED() ENABLED(record)
#define SHAPES_ZERO() DTRACE_PROBE(shapes, zero)
#define SHAPES_THREE(...) DTRACE_PROBE3(shapes, three, __VA_ARGS__)
#define SHAPES_SIX(...) DTRACE_PROBE6(shapes, six, __VA_ARGS__)
#define SHAPES_EIGHT(...) DTRACE_PROBE8(shapes, eight, __VA_ARGS__)
#define SHAPES_TWELVE(...) DTRACE_PROBE12(shapes, twelve, __VA_ARGS__)
#define SHAPES_TEXT(...) DTRACE_PROBE2(shapes, text, __VA_ARGS__)
#define SHAPES_RECORD(...) DTRACE_PROBE5(shapes, record, __VA_ARGS__)

#else

#include <sys/sdt.h>
#define SHAPES_ZERO_ENABLED() 1
#define SHAPES_THREE_ENABLED() 1
#define SHAPES_SIX_ENABLED() 1
#define SHAPES_EIGHT_ENABLED() 1
#define SHAPES_TWELVE_ENABLED() 1
#define SHAPES_TEXT_ENABLED() 1
#define SHAPES_RECORD_ENABLED() 1
#define SHAPES_ZERO() STAP_PROBE(shapes, zero)
#define SHAPES_THREE(...) STAP_PROBE3(shapes, three, __VA_ARGS__)
#define SHAPES_SIX(...) STAP_PROBE6(shapes, six, __VA_ARGS__)
#define SHAPES_EIGHT(...) STAP_PROBE8(shapes, eight, __VA_ARGS__)
#define SHAPES_TWELVE(...) STAP_PROBE12(shapes, twelve, __VA_ARGS__)
#define SHAPES_TEXT(...) STAP_PROBE2(shapes, text, __VA_ARGS__)
#define SHAPES_RECORD(...) STAP_PROBE5(shapes, record, __VA_ARGS__)

#endif

int main(void)
{
	// volatile: the arguments are registers and memory, not constants
	volatile struct {
		int8_t a;
		uint8_t b;
		int16_t c;
		uint16_t d;
		int32_t e;
		uint32_t f;
		int64_t g;
		uint64_t h;
	} v = {-1, 201, -1601, 60001, -320001, 4000000001, -64000000001, (1ull << 63) + 1};
	volatile int32_t n[12] = {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12};
	const char *volatile hello = "h\303\251llo";
	const char *volatile path = "/index.html";
	struct timespec pause = {0, 10000000};

	puts("ready");
	fflush(stdout);
	for (;; nanosleep(&pause, NULL)) {
		if (SHAPES_ZERO_ENABLED())
			SHAPES_ZERO();
		if (SHAPES_THREE_ENABLED())
			SHAPES_THREE((int32_t)-3, (uint64_t)1 << 40, (int8_t)-7);
		if (SHAPES_SIX_ENABLED())
			SHAPES_SIX((int8_t)-8, (uint8_t)200, (int16_t)-1600, (uint16_t)60000, (int32_t)-320000, (uint64_t)1 << 63);
		if (SHAPES_EIGHT_ENABLED())
			SHAPES_EIGHT(v.a, v.b, v.c, v.d, v.e, v.f, v.g, v.h);
		if (SHAPES_TWELVE_ENABLED())
			SHAPES_TWELVE(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11]);
		if (SHAPES_TEXT_ENABLED())
			SHAPES_TEXT(hello, (uint8_t)1);
		if (SHAPES_RECORD_ENABLED())
			SHAPES_RECORD((uint64_t)7, (int16_t)-2, path, (uint64_t)11, (uint16_t)8080);
	}
}
