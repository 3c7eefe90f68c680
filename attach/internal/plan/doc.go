// Package plan decides where, and whether, to attach to a probe site: at which
// offset the uprobe goes, and for which reason it is left out. It looks at the file
// that has the site and at what the kernel does to instructions, and attaches to
// nothing.
//
// Each kind of site is a line of the table in kinds.go: the checks that it has to
// pass, one after the other.
package plan
