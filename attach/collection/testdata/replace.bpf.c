// A program with a function that another one replaces.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifdef REPLACEMENT
SEC("freplace/answer") int other(struct __sk_buff *ctx) { return 42; }
#else
__attribute__((noinline)) int answer(struct __sk_buff *ctx)
{
	int result = 1;

	asm volatile("" : "+r"(result)); // else the compiler knows the answer
	return result;
}

SEC("socket") int asks(struct __sk_buff *ctx) { return answer(ctx); }
#endif

char LICENSE[] SEC("license") = "GPL";
