// A probe in a method of C++. Compiled by the tests.
#include <sys/sdt.h>

namespace shapes {
struct Square {
	int side;
	int area(int scale) const;
};

__attribute__((noinline)) int Square::area(int scale) const
{
	STAP_PROBE1(shapes, area, side);
	return side * side * scale;
}
}

int main(int argc, char **argv)
{
	shapes::Square s = {argc};
	return s.area(2);
}
