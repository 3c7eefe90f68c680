package main

import (
	"fmt"
	"io"
	"io/fs"
	"path"
)

// cpioWriter writes an archive in the format "newc" (cpio(5)), which the kernel
// unpacks as its first root file system (Documentation/driver-api/
// early-userspace/buffer-format.rst). It adds the directories that files are in.
type cpioWriter struct {
	w    io.Writer
	ino  int
	dirs map[string]bool
}

func newCPIO(w io.Writer) *cpioWriter {
	return &cpioWriter{w: w, dirs: map[string]bool{".": true}}
}

// File types of the header's mode field, as in stat(2).
const (
	cpioDir     = 0o040000
	cpioRegular = 0o100000
	cpioSymlink = 0o120000
	cpioDevice  = 0o020000
)

func (c *cpioWriter) file(name string, perm fs.FileMode, data []byte) error {
	return c.entry(name, cpioRegular|uint32(perm.Perm()), 0, 0, data)
}

func (c *cpioWriter) symlink(name, target string) error {
	return c.entry(name, cpioSymlink|0o777, 0, 0, []byte(target))
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
	if dir := path.Dir(name); !c.dirs[dir] {
		c.dirs[dir] = true
		if err := c.entry(dir, cpioDir|0o755, 0, 0, nil); err != nil {
			return err
		}
	}
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
