// Package source has the places where records come from: a ring buffer of the kernel, rings in
// memory that processes share, and files of recorders. Each is a Source to whoever decodes or adds
// up its records. Losses say when there were events that a source lacks.
package source
