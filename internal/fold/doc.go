// Package fold makes one text of texts that differ only in what a question does not ask
// for: SQL statements without their literals, names of C++ types as the source has them.
package fold
