// Bit fields, in words of several sizes, behind a pointer and in registers.
enum state { IDLE, BUSY, GONE };
enum access { READ = 1, WRITE = 2, SYNC = 4 };

struct bits {
	int id;
	unsigned first : 3;
	unsigned second : 7;
	int third : 5;
	unsigned char ready : 1;
	enum state state : 2;
	unsigned long long wide : 41;
	long long far : 20;
	enum access access;
};

struct small {
	unsigned low : 4;
	int high : 12;
	unsigned short rest;
};

__attribute__((noinline)) int use(struct bits *b, struct small s)
{
	__asm__ volatile("" : : "r"(b), "r"(s.low) : "memory");
	return b->second + s.rest;
}

int main(void)
{
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		struct bits b = {.id = i, .first = 5, .second = 100 + i, .third = -7, .ready = 1, .state = GONE, .wide = 0x1ffffffffffULL - i, .far = -1 - i, .access = READ | SYNC};
		struct small s = {.low = 9, .high = -2048 + i, .rest = 65535};
		sum += use(&b, s);
	}
	return sum == 0;
}
