// Package interop tests this module against itself and against other people's
// tools, on the running kernel: what the provider makes, and what these tools and
// the attacher see of it. It has tests only.
package interop
