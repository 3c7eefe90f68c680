#!/bin/sh
# beside.sh EBPF_EXPORTER [TURNS [SECONDS]] has pgbench work by turns untraced, beside the collector and
# beside ebpf_exporter (github.com/cloudflare/ebpf_exporter, a path to its program). Both make six
# histograms of latencies of PostgreSQL, and are asked for them every 15 seconds. It prints the processor
# time of PostgreSQL for a transaction, and that of the tracer, and is run by root, after make otelcol, with
# clang, bpftool and libbpf's headers.
set -eu
exporter=$1 turns=${2:-2} seconds=${3:-60} tracer='' asker=''
finish() { [ -z "$tracer" ] || kill "$tracer" "$asker"; }
. "$(dirname "$0")/postgres.sh"
pairs='query:query__start:query__done parse:query__parse__start:query__parse__done
	rewrite:query__rewrite__start:query__rewrite__done plan:query__plan__start:query__plan__done
	execute:query__execute__start:query__execute__done transaction:transaction__start:transaction__commit'
cat >"$dir/latency.bpf.c" <<END
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
#define MAP(name, kind, size, keys) \\
	struct { __uint(type, kind); __uint(max_entries, size); __type(key, keys); __type(value, __u64); } name SEC(".maps");
#define POSTGRES "usdt/$bin/postgres:postgresql:"
/* Bucket n has times up to 2^n ns, and the last one their sum, as ebpf_exporter reads them. */
#define LATENCY(name, first, last) \\
	MAP(name##_began, BPF_MAP_TYPE_LRU_HASH, 4096, __u32) \\
	MAP(name##_nanoseconds, BPF_MAP_TYPE_HASH, 64, __u64) \\
	SEC(POSTGRES first) int BPF_USDT(name##_first) \\
	{ \\
		__u32 tid = bpf_get_current_pid_tgid(); \\
		__u64 now = bpf_ktime_get_ns(); \\
		bpf_map_update_elem(&name##_began, &tid, &now, BPF_ANY); \\
		return 0; \\
	} \\
	SEC(POSTGRES last) int BPF_USDT(name##_last) \\
	{ \\
		__u32 tid = bpf_get_current_pid_tgid(); \\
		__u64 *began = bpf_map_lookup_elem(&name##_began, &tid); \\
		if (!began) \\
			return 0; \\
		__u64 took = bpf_ktime_get_ns() - *began; \\
		bpf_map_delete_elem(&name##_began, &tid); \\
		add(&name##_nanoseconds, bucket(took), 1); \\
		add(&name##_nanoseconds, 37, took); \\
		return 0; \\
	}
static __always_inline void add(void *map, __u64 key, __u64 n)
{
	__u64 zero = 0, *value = bpf_map_lookup_elem(map, &key);
	if (!value) {
		bpf_map_update_elem(map, &key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(map, &key);
	}
	if (value)
		__sync_fetch_and_add(value, n);
}
static __always_inline __u64 bucket(__u64 v)
{
	__u64 n = 0;
	for (int bit = 32; bit; bit /= 2)
		if (v >> n >> bit)
			n += bit;
	n += v > 1ull << n;
	return n < 36 ? n : 36;
}
$(for pair in $pairs; do echo "$pair" | sed 's/\(.*\):\(.*\):\(.*\)/LATENCY(\1, "\2", "\3")/'; done)
char LICENSE[] SEC("license") = "GPL";
END
{
	echo "metrics: {histograms: ["
	for pair in $pairs; do
		echo "{name: ${pair%%:*}_nanoseconds, help: a time, bucket_type: exp2, bucket_min: 0, bucket_max: 36, labels: [{name: bucket, size: 8, decoders: [{name: uint}]}]},"
	done
	echo "]}"
} >"$dir/latency.yaml"
{
	echo "receivers: {usdt: {traces: ["
	for pair in $pairs; do
		echo "$pair" | sed "s|\(.*\):\(.*\):\(.*\)|{name: \1, target: {exe: $bin/postgres}, metrics: {start: 'postgresql:\2', end: 'postgresql:\3', interval: 15s}},|"
	done
	echo "]}}"
	echo "exporters: {prometheus: {endpoint: 'localhost:8889'}}"
	echo "service: {telemetry: {metrics: {level: none}}, pipelines: {metrics: {receivers: [usdt], exporters: [prometheus]}}}"
} >"$dir/collector.yaml"
bpftool btf dump file /sys/kernel/btf/vmlinux format c >"$dir/vmlinux.h"
clang -O2 -g -target bpf "-D__TARGET_ARCH_$(uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')" -idirafter "/usr/include/$(uname -m)-linux-gnu" -c "$dir/latency.bpf.c" -o "$dir/latency.bpf.o"

beside() { # NAME URL COMMAND...
	name=$1 url=$2
	shift 2
	"$@" >"$dir/tracer" 2>&1 &
	tracer=$!
	while sleep 15; do curl -sf "$url" >"$dir/asked" || true; done &
	asker=$!
	sleep 20
	used=$(ticks "$tracer")
	worked=$(work)
	echo "$name: $worked; $(awk -v t=$(($(ticks "$tracer") - used)) -v s=$((seconds + 2)) 'BEGIN {printf "%.2f", t / s}') % of a processor, $(awk '/VmRSS/ {print $2}' "/proc/$tracer/status") kB, $(ls "/proc/$tracer/fd" | wc -l) descriptors, $(grep -c . "$dir/asked") lines of metrics"
	kill "$tracer" "$asker"
	wait "$tracer" "$asker" || true
	tracer=
}
for _ in $(seq "$turns"); do
	echo "untraced: $(work)"
	beside collector http://localhost:8889/metrics "$here/../bin/otelcol/otelcol-usdt" --config "$dir/collector.yaml"
	beside ebpf_exporter http://localhost:9435/metrics "$exporter" --config.dir="$dir" --config.names=latency
done
