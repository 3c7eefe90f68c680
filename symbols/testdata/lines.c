#include <stdio.h>
#include <stdlib.h>
#include "lines.h"

struct point { int x, y; };

__attribute__((noinline)) int sum(struct point *p, int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		int t = twice(p->x + i);
		s += t;
		if (s > 1000) {
			long u = s;
			s = u % 7;
		}
	}
	return s + p->y;
}

int main(int argc, char **argv) {
	struct point p = {argc, 4};
	int n = argc > 1 ? atoi(argv[1]) : 10;
	int a = sum(&p, n);
	int b = twice(a);
	printf("%d %d\n", a, b);
	return 0;
}
