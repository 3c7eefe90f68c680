// Answers "WRITES QUERIES IDLE" by as many writes to a file without a query, queries that write, and queries that
// do not, in this order, and by how long the longest query took that wrote, in ns.
#include <sys/sdt.h>

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int file;

static void store(void)
{
	static const char row[200];
	if (write(file, row, sizeof(row)) != sizeof(row))
		_exit(1);
}

static long query(int writes)
{
	struct timespec begun, done;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	STAP_PROBE1(postgresql, query__start, "update stock set n = n - 1");
	if (writes)
		store();
	clock_gettime(CLOCK_MONOTONIC, &done);
	return (done.tv_sec - begun.tv_sec) * 1000000000L + done.tv_nsec - begun.tv_nsec;
}

int main(int argc, char **argv)
{
	int writes, queries, idle;
	file = open(argv[argc - 1], O_CREAT | O_WRONLY, 0600);
	puts("ready");
	fflush(stdout);
	while (scanf("%d %d %d", &writes, &queries, &idle) == 3) {
		long all = 0, longest = 0;
		while (writes-- > 0)
			store();
		while (queries-- > 0) {
			long took = query(1);
			all += took;
			if (took > longest)
				longest = took;
		}
		while (idle-- > 0)
			query(0);
		printf("%ld %ld\n", all, longest);
		fflush(stdout);
	}
	return 0;
}
