// Package libraries compares the same tool, made with several libraries: it adds up a probe's second
// argument where the first one is positive. "go test ./internal/systest/libraries -run '^$' -bench Libraries"
// prints the measured rows of the table in docs/tool-authors.md; "-parca DIR" adds
// github.com/parca-dev/usdt, of which DIR has the source.
package libraries
