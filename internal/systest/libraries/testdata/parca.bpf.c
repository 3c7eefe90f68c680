#include "usdt.ebpf.c"
#include "usdt_args.h"

s64 sum;

SEC("uprobe")
int BPF_USDT(order, s64 items, s64 cents)
{
  if (items > 0)
    __sync_fetch_and_add(&sum, cents);
  return 0;
}
