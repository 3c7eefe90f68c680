// Package documents checks what the module's documents say: links lead somewhere,
// tables of contents are complete, and programs compile.
package documents
