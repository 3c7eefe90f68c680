// gcc -O1 -pthread -o calls calls.c
//
// For each line that it reads, the program calls what the line says, and answers when it has begun:
//
//	deep N     deep(N), which calls itself until it gets 0
//	wait N     waits() in N threads, which stay there
//	leave N    waits() returns in N threads
//	end N      N threads end within waits()
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static sem_t inside, go, outside;
static volatile int ending;

NOINLINE long deep(long n);
static long (*volatile again)(long) = deep; // or it becomes a loop

NOINLINE long deep(long n)
{
	return n ? again(n - 1) + 1 : 0;
}

NOINLINE void waits(void)
{
	sem_post(&inside);
	while (sem_wait(&go))
		;
	if (ending)
		syscall(SYS_exit, 0);
}

static void *thread(void *unused)
{
	waits();
	sem_post(&outside);
	return unused;
}

int main(void)
{
	char what[16];
	int n;
	static pthread_t threads[256];
	static int running;

	sem_init(&inside, 0, 0);
	sem_init(&go, 0, 0);
	sem_init(&outside, 0, 0);
	while (scanf("%15s %d", what, &n) == 2) {
		if (!strcmp(what, "deep"))
			deep(n);
		for (int i = 0; i < n && !strcmp(what, "wait"); i++) {
			pthread_create(&threads[running++], NULL, thread, NULL);
			sem_wait(&inside);
		}
		ending = !strcmp(what, "end");
		for (int i = 0; i < n && !strcmp(what, "leave"); i++) {
			sem_post(&go);
			sem_wait(&outside);
		}
		for (int i = 0; i < n && ending; i++)
			sem_post(&go);
		if (ending)
			while (running)
				pthread_join(threads[--running], NULL);
		puts("done");
		fflush(stdout);
	}
}
