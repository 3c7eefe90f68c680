// A program that ends right after its probe has fired below functions of two files. The first
// argument is a shared object, which it loads just before; the second how many of its children
// fire in its place, and the third whether it waits for a line first.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int depth;

__attribute__((noinline)) int leaf(int i)
{
	getppid(); // so that leaf has a frame
	DTRACE_PROBE1(brief, hit, i);
	return ++depth;
}

__attribute__((noinline)) int fire(const char *path, int i)
{
	void *object = dlopen(path, RTLD_NOW);
	int (*calls)(int (*)(int), int) = object ? dlsym(object, "calls") : 0;
	return calls ? calls(leaf, i) + depth : 0;
}

int main(int argc, char **argv)
{
	int children = argc > 2 ? atoi(argv[2]) : 0;
	if (argc > 3)
		getchar();
	if (children == 0)
		return fire(argv[1], 0) ? 0 : 1;
	for (int i = 0; i < children; i++) {
		int status = 1;
		pid_t child = fork();
		if (child == 0)
			_exit(fire(argv[1], i) ? 0 : 1);
		if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
			return 1;
	}
	return 0;
}
