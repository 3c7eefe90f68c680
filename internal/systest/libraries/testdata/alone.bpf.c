#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

enum { CONSTANT, REGISTER, MEMORY };

struct argument {
	long value; // or what is added to the register
	short kind, reg, shift, is_signed;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct argument[2]);
} sites SEC(".maps");

long sum;

static int read_argument(void *ctx, struct argument *a, long *value)
{
	long v = a->value, reg = 0;

	if (a->kind != CONSTANT) {
		if (bpf_probe_read_kernel(&reg, sizeof(reg), ctx + a->reg))
			return 1;
		v = reg;
		if (a->kind == MEMORY && bpf_probe_read_user(&v, sizeof(v), (void *)reg + a->value))
			return 1;
	}
	v <<= a->shift;
	*value = a->is_signed ? v >> a->shift : (unsigned long)v >> a->shift;
	return 0;
}

SEC("uprobe")
int order(void *ctx)
{
	__u32 site = bpf_get_attach_cookie(ctx);
	struct argument *a = bpf_map_lookup_elem(&sites, &site);
	long items, cents;

	if (!a || read_argument(ctx, &a[0], &items) || read_argument(ctx, &a[1], &cents))
		return 0;
	if (items > 0)
		__sync_fetch_and_add(&sum, cents);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
