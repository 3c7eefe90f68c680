// Package load loads generated programs and makes the maps that they share: which signatures have a
// program, which the kernel has refused, what the programs did, and what they keep in maps.
package load
