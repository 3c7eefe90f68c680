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

struct Base { long pad; int kept, hidden; };
struct Other { static int none; int second; };
int Other::none = 9;
struct Derived : Base, Other {
	static long number;
	int hidden;
	union { int a; float b; };
	KEEP int inherit(const Derived &other);
};
long Derived::number = 8;
int Derived::inherit(const Derived &other) { sink += other.kept + other.second + none + number; return hidden; }

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
	Derived d;
	d.kept = 1, d.Base::hidden = 2, d.second = 3, d.hidden = 4, d.a = 5;
	d.inherit(d);
	return 0;
}
