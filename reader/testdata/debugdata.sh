#!/bin/sh
# Makes debugdata.xz: the symbols of an object file, as .gnu_debugdata has them.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
echo 'int a; int b(void) { return a; }' | gcc -xc -c -o "$tmp/o" -
xz -9 -c "$tmp/o" > debugdata.xz
