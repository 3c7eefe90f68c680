// Strings of C++'s library in structures, and by reference. The test has their values.
#include <string>
#include <string_view>

struct Request { int id; std::string name; std::string_view path; };
volatile long sink;

__attribute__((noipa)) int serve(const Request &req, const std::string &peer) { sink += req.id + long(peer.size()); return req.id; }

int main()
{
	return serve(Request{3, "a-name-that-is-too-long-to-be-kept-inside", "/x"}, "short") - 3;
}
