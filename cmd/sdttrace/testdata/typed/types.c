// Functions whose arguments and results are of all kinds. The test has their values.
#include <stdbool.h>
#include <string.h>

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

enum mode { OFF, ON = 7 };
struct conn { int fd; unsigned short port; char name[16]; double load; };
struct pair { int first, second; };
struct text { const char *data; long len; };
struct mixed { double weight; int id; };
struct large { long a, b, c; };
struct req { const char *path; struct conn *conn; struct conn own; bool last; enum mode mode; };
struct anonymous { int tag; union { int number; float real; }; struct { short low, high; }; };

volatile long sink;

KEEP short numbers(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long g, unsigned long h)
{
	sink += a + b + c + d + e + f + g + h;
	return (short)(a + c);
}

KEEP bool flags(bool yes, enum mode mode, const char *name, float ratio, double load, int after)
{
	sink += yes + mode + strlen(name) + (long)ratio + (long)load + after;
	return !yes;
}

KEEP struct pair small(struct pair p, struct mixed m, struct text t, int last)
{
	sink += p.first + m.id + t.len + last;
	return (struct pair){p.second, p.first};
}

KEEP struct large large(struct large l, int n)
{
	sink += l.c;
	return (struct large){l.c + n, l.b, l.a};
}

KEEP struct text named(struct req *req, unsigned n)
{
	sink += req->own.fd;
	return (struct text){req->path, n};
}

KEEP const char *nothing(void) { return "nothing"; }
KEEP enum mode turn(long double x, int n) { sink += (long)x + n; return ON; }
KEEP double half(int x) { sink += x; return x / 2.0; }
KEEP int inner(struct anonymous *a, int n) { sink += a->tag + n; return a->low; }
KEEP void done(void) { sink++; }

int main(void)
{
	struct conn c = {3, 443, "peer", 1.5};
	struct req r = {"/index", &c, {4, 80, "own", 2.5}, true, ON};
	numbers(-1, 200, -300, 60000, -70000, 4000000000u, -5000000000, 6000000000);
	flags(true, ON, "hello", 0.5f, 2.5, 11);
	small((struct pair){1, -2}, (struct mixed){1.5, 33}, (struct text){"text", 4}, 5);
	large((struct large){1, 2, 3}, 4);
	named(&r, 9);
	nothing();
	turn(1.0L, 8);
	half(3);
	struct anonymous a = {1, {2}, {-3, 4}};
	inner(&a, 5);
	done();
	return 0;
}
