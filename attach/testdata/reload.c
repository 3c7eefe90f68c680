// Loads, fires and unloads a library, as its input says: gcc -o reload reload.c
// (-ldl); reload LIBRARY. Each line is a number of times; it answers with how
// often the library found itself watched.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int n;
	while (scanf("%d", &n) == 1) {
		int watched = 0;
		for (int i = 0; i < n; i++) {
			void *lib = dlopen(argv[1], RTLD_NOW);
			if (!lib) {
				fprintf(stderr, "%s\n", dlerror());
				return 1;
			}
			int (*fire)(int) = (int (*)(int))dlsym(lib, "fire");
			watched += fire(i);
			if (dlclose(lib) != 0)
				return 1;
		}
		printf("%d\n", watched);
		fflush(stdout);
	}
	return argc != 2;
}
