#!/bin/sh
# fleet.sh [TURNS [SECONDS]] has pgbench work by turns without and with the collector of fleet.yaml, on a
# database of its own, and prints rates, processor time of PostgreSQL for a transaction, and the
# collector's memory, descriptors and processor time. It is run by root, after make otelcol.
set -eu
turns=${1:-5} seconds=${2:-120}
here=$(cd "$(dirname "$0")" && pwd)
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
dir=$(mktemp -d)
chmod 755 "$dir" && mkdir "$dir/data" && chown postgres "$dir/data"
as() { setpriv --reuid postgres --regid postgres --clear-groups env -C / "$@"; }
collector=
end() {
	[ -z "$collector" ] || kill "$collector"
	as "$bin/pg_ctl" -D "$dir/data" -m fast stop >/dev/null
	rm -rf "$dir"
}
as "$bin/initdb" -D "$dir/data" -A trust >/dev/null
as "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/data/log" -o "-c listen_addresses= -c unix_socket_directories=$dir/data -c fsync=off" start >/dev/null
trap end EXIT
trap exit INT TERM
as pgbench -h "$dir/data" -i -q -s 10 postgres >/dev/null 2>&1
postmaster=$(head -1 "$dir/data/postmaster.pid")
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13 + ('"$2"' ? $14 + $15 : 0)}'; }
takes() { echo "$(awk '/VmRSS|VmHWM/ {print $1 $2 " kB"}' "/proc/$collector/status" | tr '\n' ' ')$(ls "/proc/$collector/fd" | wc -l) descriptors"; }
work() {
	sleep 1
	before=$(ticks "$postmaster" 1)
	as pgbench -h "$dir/data" -n -c 2 -j 2 -T "$seconds" postgres >"$dir/said" 2>&1
	sleep 1 # until the servers have ended
	after=$(ticks "$postmaster" 1)
	awk -v t=$((after - before)) '/actually processed/ {n = $6} /^tps/ {printf "%.0f transactions a second, %.4f ms of processor time each\n", $3, t * 10 / n}' "$dir/said"
}
for _ in $(seq "$turns"); do
	echo "without: $(work)"
	"$here/../bin/otelcol/otelcol-usdt" --config "$here/fleet.yaml" >"$dir/collector" 2>&1 &
	collector=$!
	until grep -q "Everything is ready" "$dir/collector"; do sleep 0.2; done
	sleep 10
	echo "         $(takes) at first"
	used=$(ticks $collector 0)
	echo "with:    $(work)"
	echo "         $(takes) at the end, $(awk -v t=$(($(ticks $collector 0) - used)) -v s="$seconds" 'BEGIN {printf "%.1f", t / s}') % of a processor"
	! grep "This trace failed" "$dir/collector" || exit 1
	kill $collector && wait $collector || true
	collector=
done
