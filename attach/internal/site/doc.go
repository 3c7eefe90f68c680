// Package site holds probe sites from their discovery until they are detached
// from: what was decided about each, which sites share a link, and the links. It
// does not know what the programs do.
package site
