// Allocates in two functions when it gets a line: gcc -O1 -o allocates allocates.c
#include <stdio.h>
#include <stdlib.h>

void *volatile kept;

__attribute__((noinline)) void large(int n) {
	for (int i = 0; i < n; i++)
		kept = malloc(100000);
}

__attribute__((noinline)) void small(int n) {
	for (int i = 0; i < n; i++)
		kept = malloc(24);
}

int main(void) {
	char line[80];
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		large(30);
		small(2000);
		puts("done");
	}
	return 0;
}
