#!/bin/sh
# fleet.sh [TURNS [SECONDS]] has pgbench work by turns without and with the collector of fleet.yaml, on a
# database of its own and beside a program in Java, and prints rates, processor time of PostgreSQL for a
# transaction, and the collector's memory, descriptors and processor time. It is run by root, after make
# otelcol.
set -eu
turns=${1:-5} seconds=${2:-120} collector='' java=''
finish() {
	for pid in $collector $java; do kill "$pid"; done
}
. "$(dirname "$0")/postgres.sh"
cat >"$dir/Load.java" <<JAVA
class Load {
	public static void main(String[] args) throws Exception {
		for (byte[][] kept = new byte[64][]; ; Thread.sleep(10)) {
			var t = new Thread(() -> { for (int i = 0; i < 1000; i++) kept[i % 64] = new byte[1000 + i]; });
			t.start();
			t.join();
		}
	}
}
JAVA
java -Xmx64m "$dir/Load.java" >"$dir/java" 2>&1 &
java=$!
takes() { echo "$(awk '/VmRSS|VmHWM/ {print $1 $2 " kB"}' "/proc/$collector/status" | tr '\n' ' ')$(ls "/proc/$collector/fd" | wc -l) descriptors"; }
for _ in $(seq "$turns"); do
	echo "without: $(work)"
	"$here/../bin/otelcol/otelcol-usdt" --config "$here/fleet.yaml" >"$dir/collector" 2>&1 &
	collector=$!
	until grep -qs "Everything is ready" "$dir/collector"; do kill -0 "$collector" || { tail -1 "$dir/collector"; exit 1; }; sleep 0.2; done
	sleep 10
	echo "         $(takes) at first"
	used=$(ticks "$collector")
	echo "with:    $(work)"
	echo "         $(takes) at the end, $(awk -v t=$(($(ticks "$collector") - used)) -v s="$seconds" 'BEGIN {printf "%.1f", t / s}') % of a processor"
	! grep "This trace failed" "$dir/collector" || exit 1
	kill -0 "$java"
	kill "$collector" && wait "$collector" || true
	collector=''
done
