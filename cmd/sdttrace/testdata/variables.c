#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>

enum mode { OFF, ON = 7 };
struct conn { int fd; unsigned short port; char name[16]; double load; };
struct req { const char *path; struct conn *conn; struct conn own; bool last; enum mode mode; };
static long total = 100;

__attribute__((noinline)) static long handle(struct req *req, int n, float f)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		unsigned char small = (unsigned char)(i * 3);
		sum += small + req->conn->port;
		total += sum;
	}
	printf("%s %ld %f\n", req->path, sum, f);
	return sum;
}

int main(int argc, char **argv)
{
	struct conn c = {3, 443, "peer", 1.5};
	struct req r = {"/index", &c, {4, 80, "own", 2.5}, true, ON};
	for (int k = 1; k < 4; k++)
		handle(&r, k, k * 0.5f);
	return 0;
}
