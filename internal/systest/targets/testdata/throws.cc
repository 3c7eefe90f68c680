// Throws, catches and rethrows in several threads, as often as each line of the
// input says, and tells what was where:
//	THREAD throw|catch|rethrow OBJECT TYPE
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <unistd.h>
#include <vector>


static std::mutex lock;
static std::string told;

static void tell(const char *what, const void *object, const std::type_info &type)
{
	char line[128];
	snprintf(line, sizeof line, "%d %s %p %p;", gettid(), what, object, (const void *)&type);
	std::lock_guard<std::mutex> guard(lock);
	told += line;
}

// The object is where its constructor says, since it is moved nowhere.
struct Loud : std::runtime_error {
	Loud(int n) : std::runtime_error(std::to_string(n)) { tell("throw", this, typeid(Loud)); }
};

__attribute__((noinline)) static void deep(int n, int depth)
{
	std::string destroyed_while_unwinding = std::to_string(depth);
	if (depth > 0)
		deep(n, depth - 1);
	else
		throw Loud(n);
}

static void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		try {
			try {
				deep(i, i % 5);
			} catch (Loud &e) {
				tell("catch", &e, typeid(Loud));
				if (i % 3 == 0) {
					tell("rethrow", &e, typeid(Loud));
					throw;
				}
			}
		} catch (std::exception &e) {
			tell("catch", dynamic_cast<void *>(&e), typeid(Loud));
		}
	}
}

int main()
{
	int threads, rounds;
	printf("ready\n");
	fflush(stdout);
	while (scanf("%d %d", &threads, &rounds) == 2) {
		std::vector<std::thread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back(work, rounds);
		for (auto &t : all)
			t.join();
		printf("%s\n", told.c_str());
		fflush(stdout);
		told.clear();
	}
}
