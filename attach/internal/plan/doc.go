// Package plan decides whether, and where, to attach to a probe site: at which
// offset to put the uprobe, or for which reason to leave the site out. It reads
// the file that has the site and knows what the kernel does to instructions, and
// attaches to nothing.
//
// Each kind of site is a line of the table in kinds.go: the checks that it has to
// pass, in order.
package plan
