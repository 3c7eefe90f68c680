// Commands on standard input, "WHAT N", are answered by nanoseconds: of a call,
// for unwatched, enabled and watched; of a probe, for load.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <libstapsdt.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static double load(int n) {
	double begin = now();
	SDTProvider_t *p = providerInit("many");
	for (int i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "probe_%06d", i);
		providerAddProbe(p, name, 3, uint64, uint64, uint64);
	}
	if (providerLoad(p) != 0)
		return -1;
	double took = now() - begin;
	providerUnload(p);
	providerDestroy(p);
	return took / n;
}

int main(void) {
	SDTProvider_t *p = providerInit("peers_c");
	SDTProbe_t *unwatched = providerAddProbe(p, "unwatched", 3, uint64, uint64, uint64);
	SDTProbe_t *watched = providerAddProbe(p, "watched", 3, uint64, uint64, uint64);
	if (providerLoad(p) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	char what[32];
	int n;
	volatile int enabled = 0;
	while (scanf("%31s %d", what, &n) == 2) {
		double ns = 0, begin = now();
		if (!strcmp(what, "load")) {
			ns = load(n) * n;
		} else if (!strcmp(what, "enabled")) {
			for (int i = 0; i < n; i++)
				enabled += probeIsEnabled(unwatched);
			ns = now() - begin;
		} else {
			SDTProbe_t *probe = strcmp(what, "watched") ? unwatched : watched;
			for (uint64_t i = 0; i < (uint64_t)n; i++)
				probeFire(probe, i, i, i);
			ns = now() - begin;
		}
		printf("%f\n", ns / n);
		fflush(stdout);
	}
	return 0;
}
