// A program whose probe fires below functions that have frame pointers.
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

volatile int depth;

__attribute__((noinline)) int leaf(int i)
{
	char text[] = "in C";
	depth++;
	printf("%d\n", i); // so that leaf has a frame
	fflush(stdout);
	DTRACE_PROBE2(stacked, hit, i, text);
	return depth;
}

__attribute__((noinline)) int middle(int i) { return leaf(i) + depth; }
__attribute__((noinline)) int deep(int i) { return i > 200 ? middle(i) : deep(i + 1) + depth; }

int main(int argc, char **argv)
{
	getchar();
	middle(argc);
	deep(argc);
	puts("done");
	fflush(stdout);
	if (argc == 1)
		getchar();
	return 0;
}
