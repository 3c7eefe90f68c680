// Package limits ends a command that imports it if a resource limit leaves it too little. It
// does so when it is initialised, since other packages open files then, and Go's runtime ends
// with a dump where it cannot have descriptors of its own. Packages are initialised in the order
// of their import paths, as soon as the packages that they import have been (The Go Programming
// Language Specification, "Program initialization"): this one is early since it imports little.
package limits
