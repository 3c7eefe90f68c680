// A function whose arguments have names and types, by DWARF or by BTF:
//
//	gcc -O1 -gbtf -o functions typed.c
//	gcc -O1 -g -o functions typed.c

struct conn {
	int fd;
	unsigned short port : 16;
	short level;
	const char *peer;
};

struct pair {
	long a, b;
};

enum how { READ, WRITE };

__attribute__((noinline)) long handle(struct conn *c, const char *path, int n, enum how h, double load, unsigned char last)
{
	__asm__ volatile("" ::: "memory");
	return n + path[0] + c->level + (int)load + last + h;
}

__attribute__((noinline)) int split(short first, struct pair both, int later)
{
	__asm__ volatile("" ::: "memory");
	return first + both.a + later;
}

int main(void)
{
	struct conn c = {-7, 80, -3, "me"};
	struct pair both = {1, 2};

	return handle(&c, "/x", -5, WRITE, 0.5, 200) == 0 || split(-4, both, 5) == 0;
}
