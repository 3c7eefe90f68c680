# postgres.sh is what fleet.sh and beside.sh have in common: it starts a PostgreSQL of its own with the tables
# of pgbench, and stops it when the script ends. Before that it calls finish, which the script defines, and
# it removes $dir, where the script may put files.
here=$(cd "$(dirname "$0")" && pwd)
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
dir=$(mktemp -d)
chmod 755 "$dir" && mkdir "$dir/data" && chown postgres "$dir/data"
as() { setpriv --reuid postgres --regid postgres --clear-groups env -C / "$@"; }
end() {
	finish || true
	as "$bin/pg_ctl" -D "$dir/data" -m fast stop >/dev/null
	rm -rf "$dir"
}
as "$bin/initdb" -D "$dir/data" -A trust >/dev/null
as "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/data/log" -o "-c listen_addresses= -c unix_socket_directories=$dir/data -c fsync=off" start >/dev/null
trap end EXIT
trap exit INT TERM
as pgbench -h "$dir/data" -i -q -s 10 postgres >/dev/null 2>&1
postmaster=$(head -1 "$dir/data/postmaster.pid")

# ticks PID [1] prints the processor time of a process, with 1 also that of its children that have ended.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13 + ('"${2:-0}"' ? $14 + $15 : 0)}'; }

# work runs pgbench for $seconds, and prints how much it did and what that took of the processors.
work() {
	sleep 1
	before=$(ticks "$postmaster" 1)
	as pgbench -h "$dir/data" -n -c 2 -j 2 -T "$seconds" postgres >"$dir/said" 2>&1
	sleep 1 # until the servers have ended
	after=$(ticks "$postmaster" 1)
	awk -v t=$((after - before)) '/actually processed/ {n = $6} /^tps/ {printf "%.0f transactions a second, %.4f ms of processor time each", $3, t * 10 / n}' "$dir/said"
}
