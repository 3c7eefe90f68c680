// A program whose types compilers put into units of their own: nested ones, in namespaces, in each
// other, with enumerations, unions, bit fields, base classes and pointers to themselves.

extern "C" int printf(const char *, ...);
extern "C" int atoi(const char *);

enum Colour { RED, GREEN = 5, BLUE = -3 };

namespace shop {
namespace detail {
struct Node {
	Node *next;
	long weight;
	const char *name;
	enum class Kind : unsigned char { Leaf, Inner } kind;
};
} // namespace detail

union Tags {
	int number;
	unsigned char bytes[4];
};

struct Base {
	double price;
	Colour colour;
};

struct Order : Base {
	int id;
	detail::Node first;
	detail::Node *list;
	Tags tags;
	unsigned paid : 1, state : 5;
	struct Address {
		char street[16];
		short number;
	} address;
	int total(const Order &other) const;
};

struct Pair {
	int left, right;
};

__attribute__((noinline)) int Order::total(const Order &other) const
{
	const detail::Node *node = list;
	int sum = id + other.id;
	while (node) {
		sum += node->weight;
		node = node->next;
	}
	return sum + tags.number;
}

__attribute__((noinline)) Pair split(Order order, Pair pair, Colour colour, detail::Node::Kind kind)
{
	Pair result = {order.id + pair.left, static_cast<int>(colour) + static_cast<int>(kind) + pair.right};
	printf("%d %d\n", result.left, result.right);
	return result;
}

} // namespace shop

int main(int argc, char **argv)
{
	shop::Order order = {};
	order.id = argc;
	order.first.weight = atoi(argv[0]);
	order.list = &order.first;
	shop::Tags tags;
	tags.number = order.total(order);
	order.tags = tags;
	shop::Pair pair = split(order, {1, 2}, GREEN, shop::detail::Node::Kind::Inner);
	printf("%d\n", pair.left + tags.number);
	return 0;
}
