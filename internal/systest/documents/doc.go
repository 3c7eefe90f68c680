// Package documents tests that what the module's documents say of it is so:
// links lead somewhere, contents are complete, and programs compile.
package documents
