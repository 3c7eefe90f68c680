// Exceptions that pass through functions which have nothing to do then, of this program and of
// a library:
//
//	g++ -O1 -fno-optimize-sibling-calls -shared -fPIC -DLIBRARY -o libpassing.so exceptions.cc
//	g++ -O1 -fno-optimize-sibling-calls -rdynamic -o exceptions exceptions.cc -lpassing
//
// For each line that it reads, the program answers with how many it has caught.

int fails(int n);

#ifdef LIBRARY
int passing(int n) { return fails(n) + 1; }
#else
#include <cstdio>
#include <cstdlib>

int passing(int n);
int fails(int n)
{
	if (n % 2)
		throw n;
	return n;
}
extern "C" __attribute__((noinline)) int plain(int n) { return fails(n) + 1; }
static int compare(const void *a, const void *b) { return fails(1), *(int *)a - *(int *)b; }

template <typename Call> static int caught(Call call)
{
	try {
		call();
	} catch (int) {
		return 1;
	}
	return 0;
}

int main()
{
	char line[32];
	while (fgets(line, sizeof line, stdin)) {
		int n = 0, v[] = {2, 1};
		for (int i = 0; i < 4; i++)
			n += caught([=] { plain(i); }) + caught([=] { passing(i); });
		printf("%d\n", n + caught([&] { qsort(v, 2, sizeof *v, compare); }));
		fflush(stdout);
	}
}
#endif
