// Fires reexec:hit with each number that it reads, and answers "done"; at 0 its
// second thread executes the program anew, which answers: gcc -o reexec reexec.c
// -pthread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>

static void *execute(void *argv)
{
	execv("/proc/self/exe", argv);
	abort();
}

static void answer(void)
{
	printf("done\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[32];
	setvbuf(stdin, NULL, _IONBF, 0);
	if (argc > 1)
		answer();
	while (fgets(line, sizeof line, stdin)) {
		int n = atoi(line);
		if (n == 0) {
			char *again[] = {argv[0], "again", NULL};
			pthread_t thread;
			pthread_create(&thread, NULL, execute, again);
			pthread_join(thread, NULL);
		}
		DTRACE_PROBE1(reexec, hit, n);
		answer();
	}
	return 0;
}
