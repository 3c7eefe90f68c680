// Opens a trace with Perfetto's trace_processor, as Debian's chromium-shell has it
// for Chromium's tests, and answers the SQL queries that are its other arguments:
//
//   processor TRACE QUERY...
//
// An answer is a line "rows columns" and then each cell, the names of the columns
// first, with a NUL behind it. An error ends the program.
//
// The library has its own C++ library, libc++, whose headers need not be installed:
// what it exports takes and returns only these types. Their layouts are libc++'s of
// ABI version 1, which their namespace names.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace std {
inline namespace __1 {

template <class C> struct char_traits;
template <class T> class allocator;

template <class C, class Traits, class Alloc> class basic_string {
	// The first bit says which of both it is. A short one has its size in the other bits.
	union {
		struct { size_t room, size; const C *text; } large;
		struct { unsigned char size; C text[23]; } small;
	};
	bool is_large() const { return small.size & 1; }

public:
	basic_string() : large{} {}
	explicit basic_string(const C *text) : large{strlen(text) | 1, strlen(text), text} {}
	const C *data() const { return is_large() ? large.text : small.text; }
	size_t size() const { return is_large() ? large.size : small.size >> 1; }
};

template <class T, class Alloc> struct vector {
	T *first, *behind, *room;
	T *begin() const { return first; }
	T *end() const { return behind; }
	size_t size() const { return behind - first; }
};

} // namespace __1
} // namespace std

typedef std::basic_string<char, std::char_traits<char>, std::allocator<char>> string;
template <class T> using list = std::vector<T, std::allocator<T>>;

// Its one word is 1 if all went well.
namespace absl {
struct Status {
	size_t code;
	~Status() {}
};
} // namespace absl

namespace base::test {

struct QueryResultOrError {
	list<list<string>> rows;
	string error;
	~QueryResultOrError();
};

class TestTraceProcessorImpl {
	void *members[8]; // two are used

public:
	TestTraceProcessorImpl();
	~TestTraceProcessorImpl();
	absl::Status ParseTrace(const list<char> &trace);
	QueryResultOrError ExecuteQuery(const string &query) const;
};

} // namespace base::test

static list<char> contents(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	list<char> l{};
	size_t size = 0, n = 0;
	do {
		size += n;
		l.first = (char *)realloc(l.first, size + (1 << 20));
	} while (l.first != NULL && (n = fread(l.first + size, 1, 1 << 20, f)) > 0);
	if (l.first == NULL || ferror(f)) {
		perror(path);
		exit(1);
	}
	fclose(f);
	l.behind = l.room = l.first + size;
	return l;
}

int main(int argc, char **argv)
{
	base::test::TestTraceProcessorImpl processor;
	list<char> trace = contents(argv[1]);
	absl::Status s = processor.ParseTrace(trace);
	if (s.code != 1) {
		fprintf(stderr, "%s: cannot be parsed\n", argv[1]);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		string query(argv[i]);
		base::test::QueryResultOrError answer = processor.ExecuteQuery(query);
		if (answer.error.size() > 0) {
			fprintf(stderr, "%s\n%.*s\n", argv[i], (int)answer.error.size(), answer.error.data());
			return 1;
		}
		const auto &rows = answer.rows;
		printf("%zu %zu\n", rows.size(), rows.size() ? rows.begin()->size() : 0);
		for (const auto &row : rows)
			for (const auto &cell : row)
				printf("%.*s%c", (int)cell.size(), cell.data(), 0);
	}
	return 0;
}
