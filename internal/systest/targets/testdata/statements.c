// Fires probes as PostgreSQL does for short statements: statements RATE SECONDS, events a second.
#include <sys/sdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int statement(int i)
{
	char query[120];
	char *volatile text = query, *volatile tranche = "BufferContent";
	unsigned lxid = i, block = i, tablespace = 1663, database = 5, relation = 16400 + i % 5;
	int mode = i % 2, fork = 0, backend = -1, reads = 6;
	unsigned char extend = 0, hit = 1;
	snprintf(query, sizeof query, "SELECT abalance FROM pgbench_accounts WHERE aid = %d;", i * 7919 % 100000);
	DTRACE_PROBE1(postgresql, query__start, text);
	DTRACE_PROBE1(postgresql, transaction__start, lxid);
	DTRACE_PROBE1(postgresql, query__parse__start, text);
	DTRACE_PROBE1(postgresql, query__parse__done, text);
	DTRACE_PROBE1(postgresql, query__rewrite__start, text);
	DTRACE_PROBE1(postgresql, query__rewrite__done, text);
	DTRACE_PROBE(postgresql, query__plan__start);
	DTRACE_PROBE(postgresql, query__plan__done);
	DTRACE_PROBE(postgresql, query__execute__start);
	for (int k = 0; k < reads; k++) {
		DTRACE_PROBE2(postgresql, lwlock__acquire, tranche, mode);
		DTRACE_PROBE1(postgresql, lwlock__release, tranche);
		DTRACE_PROBE7(postgresql, buffer__read__start, fork, block, tablespace, database, relation, backend, extend);
		DTRACE_PROBE8(postgresql, buffer__read__done, fork, block, tablespace, database, relation, backend, extend, hit);
	}
	DTRACE_PROBE(postgresql, query__execute__done);
	DTRACE_PROBE1(postgresql, transaction__commit, lxid);
	DTRACE_PROBE1(postgresql, query__done, text);
	return 12 + 4 * reads;
}

int main(int argc, char **argv)
{
	double rate = atof(argv[1]), seconds = atof(argv[2]), begin = now();
	long n = 0;
	for (int i = 0; now() - begin < seconds; i++) {
		while (n > rate * (now() - begin))
			usleep(1000);
		n += statement(i);
	}
	printf("fired %ld\n", n);
	return 0;
}
