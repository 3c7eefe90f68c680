// A program in C++ with templates, inlined functions, lambdas and namespaces.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace shop {

struct Item {
	std::string name;
	int price;
	bool operator<(const Item &other) const { return price < other.price; }
};

class Cart {
	std::vector<Item> items;
	std::map<std::string, int> counts;

public:
	Cart() : items() {}
	virtual ~Cart() = default;
	virtual int total() const;
	template <typename... Args> void add(Args &&...args) { items.push_back(Item{std::forward<Args>(args)...}); }
	void sort() { std::sort(items.begin(), items.end()); }
	void count()
	{
		for (const auto &i : items)
			counts[i.name]++;
	}
};

int Cart::total() const
{
	int sum = 0;
	std::for_each(items.begin(), items.end(), [&sum](const Item &i) {
		if (i.price < 0)
			throw std::invalid_argument(i.name);
		sum += i.price;
	});
	return sum;
}

} // namespace shop

int main()
{
	auto cart = std::make_unique<shop::Cart>();
	for (int i = 0; i < 100; i++)
		cart->add(std::to_string(i), i * 7 % 13);
	cart->sort();
	cart->count();
	try {
		cart->add("wrong", -1);
		cart->total();
	} catch (const std::exception &e) {
		puts(e.what());
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
