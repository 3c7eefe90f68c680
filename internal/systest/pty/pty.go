// Package pty gives tests a terminal: a pair of pseudo-terminals, and what one
// would show.
package pty

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// Open returns both ends of a new pseudo-terminal: what is typed goes to master, and a
// program that runs on the terminal has slave.
func Open(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		needs.Skip(t, "no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		needs.Skip(t, "no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// Show returns a display of what is written to the terminal of master. The terminal gets
// its size.
func Show(t testing.TB, master *os.File, width, height int) *Display {
	t.Helper()
	d := &Display{master: master}
	d.Resize(t, width, height)
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			if err != nil {
				return // the test has ended
			}
			d.write(b[:n])
		}
	}()
	return d
}
