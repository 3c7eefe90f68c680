// A probe that fires only while its semaphore is raised, in a program and in a library:
//
//	gcc -O1 -o guarded guarded.c -ldl
//	gcc -O1 -shared -fPIC -DLIBRARY -o libguarded.so guarded.c
//
// The program answers each command with how many of its events fired. Its constructors
// and the library's fire as well.
#define _GNU_SOURCE
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

__attribute__((visibility("hidden"), section(".probes"))) volatile unsigned short guarded_hit_semaphore = 0;

static int early;

int hit(int n)
{
	int fired = 0;
	while (n-- > 0)
		if (guarded_hit_semaphore) {
			DTRACE_PROBE1(guarded, hit, n);
			fired++;
		}
	return fired;
}

int value(void) { return guarded_hit_semaphore; }

int began(void)
{
	int n = early;
	early = 0;
	return n;
}

__attribute__((constructor)) static void begin(void) { early = hit(1); }

#ifndef LIBRARY
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int count(void);
typedef int fire(int);
static void *libraries[16];
static int n_libraries;

// child fires n events in a child process, which executes the program anew if exec is set.
static int child(int n, int exec)
{
	int out[2], fired = 0;
	char times[16];
	if (pipe(out))
		exit(2);
	if (!fork()) {
		dup2(out[1], 1);
		snprintf(times, sizeof times, "%d", n);
		if (exec)
			execl("/proc/self/exe", "guarded", times, (char *)0);
		fired = hit(n);
		_exit(write(out[1], &fired, sizeof fired) != sizeof fired);
	}
	if (read(out[0], &fired, sizeof fired) != sizeof fired)
		exit(3);
	close(out[0]);
	close(out[1]);
	wait(0);
	return fired;
}

// load loads the library and fires n events there.
static int load(const char *path, int n, int again)
{
	void *l = dlmopen(again ? LM_ID_NEWLM : LM_ID_BASE, path, RTLD_NOW);
	if (!l) {
		fprintf(stderr, "%s\n", dlerror());
		exit(4);
	}
	libraries[n_libraries++] = l;
	return ((count *)dlsym(l, "began"))() + ((fire *)dlsym(l, "hit"))(n);
}

static int all(int n)
{
	int fired = hit(n);
	for (int i = 0; i < n_libraries; i++)
		fired += ((fire *)dlsym(libraries[i], "hit"))(n);
	return fired;
}

static int values(void)
{
	int sum = value();
	for (int i = 0; i < n_libraries; i++)
		sum += ((count *)dlsym(libraries[i], "value"))();
	return sum;
}

int main(int argc, char **argv)
{
	char line[4096], command[16], path[4000];
	if (argc > 1) {
		int fired = began() + hit(atoi(argv[1]));
		return write(1, &fired, sizeof fired) != sizeof fired;
	}
	while (fgets(line, sizeof line, stdin)) {
		int n = 0, answer = -1;
		*path = 0;
		sscanf(line, "%15s %d %3999s", command, &n, path);
		if (!strcmp(command, "began"))
			answer = began();
		else if (!strcmp(command, "fire"))
			answer = all(n);
		else if (!strcmp(command, "fork") || !strcmp(command, "exec"))
			answer = child(n, *command == 'e');
		else if (!strcmp(command, "dlopen") || !strcmp(command, "dlmopen"))
			answer = load(path, n, command[2] == 'm');
		else if (!strcmp(command, "values"))
			answer = values();
		printf("%d\n", answer);
		fflush(stdout);
	}
}
#endif
