// A program that runs code which it has generated, and writes a perf map: like CPython,
// with the trampolines of its version 3.12 (a call with the stack moved by 8 bytes) and
// those with frame pointers. The innermost function waits.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void function(int n);
static function *trampolines[2];

__attribute__((noinline)) static void eval(int n)
{
	if (n == 0) {
		printf("ready\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	trampolines[n % 2](n - 1);
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	// sub $8,%rsp; call *target(%rip); add $8,%rsp; ret
	static const unsigned char moved[] = {0x48, 0x83, 0xec, 8, 0xff, 0x15, 54, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3};
	// push %rbp; mov %rsp,%rbp; call *target(%rip); pop %rbp; ret
	static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0x15, 54, 0, 0, 0, 0x5d, 0xc3};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	function *target = eval;
	char path[64];
	FILE *map;
	memcpy(code, moved, sizeof moved);
	memcpy(code + 64, &target, sizeof target);
	memcpy(code + 256, framed, sizeof framed);
	memcpy(code + 256 + 64, &target, sizeof target);
	trampolines[0] = (function *)code;
	trampolines[1] = (function *)(code + 256);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx %zx py::even:/src/a.py\n%lx %zx py::odd:/src/a.py\n", (unsigned long)code, sizeof moved, (unsigned long)code + 256, sizeof framed);
	fclose(map);
	eval(5);
}
