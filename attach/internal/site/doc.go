// Package site holds probe sites from when they were found until they are detached
// from: what was decided about each, which of them share a link, and the links. It
// knows nothing of what the programs do.
package site
