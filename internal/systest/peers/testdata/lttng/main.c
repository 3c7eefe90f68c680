// Commands on standard input, "WHAT N", are answered by the nanoseconds of an event.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tracepoints.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void) {
	puts("ready");
	fflush(stdout);
	char what[32];
	int n;
	while (scanf("%31s %d", what, &n) == 2) {
		int text = !strcmp(what, "text");
		if (!(text ? lttng_ust_tracepoint_enabled(peers, text) : lttng_ust_tracepoint_enabled(peers, integers))) {
			puts("not enabled");
			return 1;
		}
		double begin = now();
		if (text)
			for (long i = 0; i < n; i++)
				lttng_ust_tracepoint(peers, text, i, "sixteen bytes ok", i);
		else
			for (long i = 0; i < n; i++)
				lttng_ust_tracepoint(peers, integers, i, i, i);
		printf("%f\n", (now() - begin) / n);
		fflush(stdout);
	}
	return 0;
}
