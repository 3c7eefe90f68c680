// Package sums has the words of groups by their keys, as programs and tallies make them, and makes the
// groups that users get: what is computed of the words, keys as values, stacks with the same frames as
// one.
package sums
