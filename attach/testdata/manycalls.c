// Calls of many functions of a library, which is argv[1]; the names are the other arguments. For
// each line that it reads, the program answers with what they have made of numbers. That it has
// swapcontext lets a tracer of this process expect coroutines.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

int (*volatile switches)(ucontext_t *, const ucontext_t *) = swapcontext;

int main(int argc, char **argv)
{
	char line[32];
	void *library = dlopen(argv[1], RTLD_NOW);
	while (fgets(line, sizeof line, stdin)) {
		unsigned long sum = 0, bits;
		for (int i = 2; i < argc; i++) {
			double (*f)(double, double, double, void *, void *) = dlsym(library, argv[i]);
			for (int n = -3; f && n < 4; n++) {
				double room[2][16] = {0}, got = f(n / 2.0, 1.5, 0.25, room[0], room[1]);
				memcpy(&bits, &got, sizeof bits);
				sum = sum * 31 + bits;
			}
		}
		printf("%lu\n", sum);
		fflush(stdout);
	}
}
