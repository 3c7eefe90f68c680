// A program whose probe fires below functions that have frame pointers.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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

// generate maps memory for code right behind the program, where its file still has bytes
// that are not mapped, such as its symbols. The vDSO may be there already.
static void generate(void)
{
	extern char end[];
	uintptr_t behind = ((uintptr_t)end + 0xffff) & ~(uintptr_t)0xffff;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	if (mmap((void *)behind, 4096, PROT_READ | PROT_EXEC, flags, -1, 0) == MAP_FAILED && errno != EEXIST)
		exit(1);
}

int main(int argc, char **argv)
{
	getchar();
	if (argc > 1)
		generate();
	middle(argc);
	deep(argc);
	puts("done");
	fflush(stdout);
	if (argc == 1)
		getchar();
	return 0;
}
