package main

import (
	"fmt"
	"io"
	"io/fs"
)

// cpioWriter writes an archive in the format "newc" (cpio(5)), which the kernel
// unpacks as its first root file system (Documentation/driver-api/
// early-userspace/buffer-format.rst).
type cpioWriter struct {
	w   io.Writer
	ino int
}

// File types of the header's mode field, as in stat(2).
const (
	cpioDir     = 0o040000
	cpioRegular = 0o100000
	cpioDevice  = 0o020000
)

// dir adds a directory; its parents come first.
func (c *cpioWriter) dir(name string, perm fs.FileMode) error {
	return c.entry(name, cpioDir|uint32(perm.Perm()), 0, 0, nil)
}

func (c *cpioWriter) file(name string, perm fs.FileMode, data []byte) error {
	return c.entry(name, cpioRegular|uint32(perm.Perm()), 0, 0, data)
}

// device adds a character device.
func (c *cpioWriter) device(name string, perm fs.FileMode, major, minor int) error {
	return c.entry(name, cpioDevice|uint32(perm.Perm()), major, minor, nil)
}

func (c *cpioWriter) close() error {
	return c.entry("TRAILER!!!", 0, 0, 0, nil)
}

// entry writes a header of hexadecimal fields, the name and the data, each
// padded to four bytes.
func (c *cpioWriter) entry(name string, mode uint32, major, minor int, data []byte) error {
	c.ino++
	const uid, gid, links, mtime, check = 0, 0, 1, 0, 0
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.ino, mode, uid, gid, links, mtime, len(data), 0, 0, major, minor, len(name)+1, check) + name + "\x00"
	for _, part := range [][]byte{[]byte(header), data} {
		if _, err := c.w.Write(part); err != nil {
			return err
		}
		if _, err := c.w.Write(make([]byte, -len(part)&3)); err != nil {
			return err
		}
	}
	return nil
}
