// Package interop tests this module against itself and against other people's
// tools, on the running kernel: what the provider makes, and what they and the
// attacher see of it. It has no code of its own.
package interop
