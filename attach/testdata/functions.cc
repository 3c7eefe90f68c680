// Functions of C++ to trace: two instances of a template, and a method that
// throws. For each line that it reads, the program calls them and answers.
#include <cstdio>
#include <vector>

struct parser {
	long parse(long n);
};

__attribute__((noinline)) long parser::parse(long n)
{
#ifdef __cpp_exceptions
	if (n > 1)
		throw n;
#endif
	return 10 * n;
}

int main()
{
	std::vector<int> ints;
	std::vector<double> doubles;
	parser p;
	for (int c; (c = getchar()) != EOF;) {
		if (c != '\n')
			continue;
		long got = 0;
		for (int i = 0; i < 3; i++) {
			ints.push_back(i);
#ifdef __cpp_exceptions
			try {
				got += p.parse(i);
			} catch (long n) {
				got += n;
			}
#else
			got += p.parse(i);
#endif
		}
		doubles.push_back(0.5);
		printf("%ld\n", got);
		fflush(stdout);
	}
}
