// Fires headless:hit with each number that it reads, and answers "done"; at 0 its
// first thread ends: gcc -o headless headless.c -pthread. (pthread_exit needs a library
// that small machines lack.)
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t last = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
	char line[32];
	while (fgets(line, sizeof line, stdin)) {
		int n = atoi(line);
		if (n == 0)
			pthread_mutex_unlock(&last);
		DTRACE_PROBE1(headless, hit, n);
		printf("done\n");
		fflush(stdout);
	}
	exit(0);
}

int main(void)
{
	pthread_t other;
	pthread_mutex_lock(&last);
	pthread_create(&other, NULL, work, NULL);
	pthread_mutex_lock(&last);
	syscall(SYS_exit, 0);
}
