// Package link attaches programs to places in files. It knows offsets, not
// probes: a [Group] holds the sites that one program is attached to, and
// [Group.Attach] says for each of its sites why the kernel refused it.
//
// Each [Kind] of link is a file of its own and a line of the table in kind.go.
package link
