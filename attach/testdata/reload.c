// Loads, fires and unloads a library, as its input says: gcc -o reload reload.c
// (-ldl); reload LIBRARY [AGAIN]. Each line is a number of times; it answers with
// how often the library found itself watched. After 0 the library stays loaded,
// the second one by its other name; -1 fires the ones that stayed, and unloads them.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return lib;
}

static int fire_and_unload(void *lib, int i)
{
	int (*fire)(int) = (int (*)(int))dlsym(lib, "fire");
	int watched = fire(i);
	if (dlclose(lib) != 0)
		exit(1);
	return watched;
}

int main(int argc, char **argv)
{
	void *kept[2];
	int n, stayed = 0;
	while (scanf("%d", &n) == 1) {
		int watched = 0;
		for (int i = 0; i < n; i++)
			watched += fire_and_unload(load(argv[1]), i);
		if (n == 0 && stayed < 2) {
			kept[stayed] = load(argv[1 + stayed]);
			stayed++;
		}
		if (n < 0) {
			for (int i = 0; i < stayed; i++)
				watched += fire_and_unload(kept[i], i);
			stayed = 0;
		}
		printf("%d\n", watched);
		fflush(stdout);
	}
	return argc < 2;
}
