// Package format writes events, groups, pairs and snapshots as lines of text, in which numbers are
// shown as what they mean, and of JSON.
package format
