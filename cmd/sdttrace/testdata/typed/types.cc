// Methods and classes of C++. The test has their values.
#include <string>

struct Point { int x, y; };
class Name {
public:
	Name(const char *text, int n) : text(text), n(n) {}
	Name(const Name &o) : text(o.text), n(o.n + 1) {}
	~Name() {}
	const char *text;
	int n;
};
enum class Color : unsigned char { Red = 1, Blue = 2 };
#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif
volatile long sink;

struct Shop {
	int id;
	const char *title;
	KEEP int sell(const Point &at, Color color, bool gift);
	KEEP static long open(Shop *&shop, int &&n);
	KEEP Name label(Name name, short n);
};

int Shop::sell(const Point &at, Color color, bool gift) { sink += at.x + int(color) + gift; return id - 50; }
long Shop::open(Shop *&shop, int &&n) { sink += n; return shop->id; }
Name Shop::label(Name name, short n) { sink += name.n; return Name(name.text, n); }

namespace deep {
template <typename T> KEEP T twice(T value) { sink += long(value); return value + value; }
}

int main()
{
	static Shop shop{42, "corner"};
	Shop *p = &shop;
	Point at{3, -4};
	shop.sell(at, Color::Blue, true);
	Shop::open(p, 7);
	shop.label(Name("tag", 1), -5);
	deep::twice<int>(21);
	return 0;
}
