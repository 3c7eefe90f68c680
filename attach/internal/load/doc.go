// Package load loads generated programs: which signatures have one, which the kernel has refused,
// and what the programs did.
package load
