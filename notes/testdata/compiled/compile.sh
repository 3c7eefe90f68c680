#!/bin/sh
# Prints the argument strings that compilers give to the probes of args.c:
#   ./compile.sh 'COMPILER FLAGS'... >ARCH.txt
# sys/sdt.h must be where the compiler looks for it; it needs no other header.
# The files here are from gcc 12.2, Debian's cross compilers of that version,
# and clang 14, with sys/sdt.h 4.8.
set -eu
object=$(mktemp)
trap 'rm -f "$object"' EXIT
for compiler; do
	echo "# $compiler"
	$compiler -c -o "$object" "$(dirname "$0")/args.c"
	readelf -n "$object" | sed -n 's/^ *Arguments: //p'
done
