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
	char tag[8];
	int codes[3];
	unsigned char raw[4];
	union { unsigned word; short half; } either;
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
	struct conn c = {3, 443, "first", &peer, {6, "near"}, 2.5, ON, true, "12345678", {7, -8, 9}, {1, 2, 255, 0}, {0x50003}};
	Pair p = {8, -9};
	for (int i = 0; i < 3; i++) {
		use(&c, (long)&p, ON);
		c.port++;
		c.name = "later";
		c.tag[3] = 0;
	}
	return 0;
}
