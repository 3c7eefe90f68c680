// Probes and functions whose arguments are addresses of structures that only debugging information
// describes. The test has their values.
#include <stdbool.h>
#include <sys/sdt.h>

#define KEEP __attribute__((noinline))

enum mode { OFF, ON = 7 };
struct peer { int id; const char *host; };
struct conn {
	int fd;
	unsigned short port;
	const char *name;
	struct peer *peer;
	struct peer own;
	double load;
	enum mode mode;
	bool last;
};
typedef struct { long a, b; } Pair;

volatile long sink;

KEEP void *use(void *data, long n, int mode)
{
	DTRACE_PROBE3(casts, use, data, n, mode);
	sink += n + mode;
	return data;
}

int main(void)
{
	struct peer peer = {5, "far"};
	struct conn c = {3, 443, "first", &peer, {6, "near"}, 2.5, ON, true};
	Pair p = {8, -9};
	for (int i = 0; i < 3; i++) {
		use(&c, (long)&p, ON);
		c.port++;
		c.name = "later";
	}
	return 0;
}
