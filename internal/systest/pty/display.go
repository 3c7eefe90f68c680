package pty

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Display is what a terminal shows, as far as sdttrace uses it.
type Display struct {
	master *os.File

	mu            sync.Mutex
	width, height int
	rows          [][]rune
	row, col      int
	rest          []byte // of a control sequence
	scrolled      int    // lines that have left the display at its top
}

var control = regexp.MustCompile(`^\x1b\[(\??[0-9]*)([A-Za-z])`)

// write shows what is written to the terminal.
func (d *Display) write(p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := append(d.rest, p...)
	for len(b) > 0 {
		if m := control.FindSubmatch(b); m != nil {
			d.control(string(m[1]), m[2][0])
			b = b[len(m[0]):]
			continue
		}
		if b[0] == 0x1b {
			break // the rest is to come
		}
		r, size := rune(b[0]), 1
		if r >= 0x80 {
			if r, size = []rune(string(b))[0], len(string([]rune(string(b))[0])); r == 0xfffd {
				break
			}
		}
		d.char(r)
		b = b[size:]
	}
	d.rest = bytes.Clone(b)
}

func (d *Display) control(number string, what byte) {
	n := 1
	fmt.Sscan(number, &n)
	switch what {
	case 'A':
		d.row = max(d.row-n, 0)
	case 'H':
		d.row, d.col = 0, 0
	case 'K':
		d.rows[d.row] = d.rows[d.row][:min(d.col, len(d.rows[d.row]))]
	case 'J':
		if number == "2" {
			clear(d.rows)
			return
		}
		d.rows[d.row] = d.rows[d.row][:min(d.col, len(d.rows[d.row]))]
		clear(d.rows[d.row+1:])
	}
}

func (d *Display) char(r rune) {
	switch r {
	case '\r':
		d.col = 0
	case '\n':
		if d.row++; d.row == d.height {
			d.rows = append(d.rows[1:], nil)
			d.row--
			d.scrolled++
		}
	default:
		for len(d.rows[d.row]) <= d.col {
			d.rows[d.row] = append(d.rows[d.row], ' ')
		}
		d.rows[d.row][d.col] = r
		d.col = min(d.col+1, d.width-1)
	}
}

// Resize changes the size, of which the kernel informs the program, and shows nothing
// until something is written.
func (d *Display) Resize(t testing.TB, width, height int) {
	t.Helper()
	d.mu.Lock()
	d.width, d.height = width, height
	d.rows = make([][]rune, height)
	d.row, d.col = min(d.row, height-1), 0
	d.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(d.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)}); err != nil {
		t.Fatal(err)
	}
}

// Lines returns the lines that are not empty, and how many have left at the top.
func (d *Display) Lines() (lines []string, scrolled int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, row := range d.rows {
		if len(row) > 0 {
			lines = append(lines, string(row))
		}
	}
	return lines, d.scrolled
}

// Await waits until the display holds, and returns its lines. what says in a failure
// what it waited for.
func (d *Display) Await(t testing.TB, what string, holds func(lines []string) bool) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		lines, _ := d.Lines()
		if holds(lines) {
			return lines
		}
		if time.Now().After(deadline) {
			t.Fatalf("the terminal does not show %s:\n%s", what, strings.Join(lines, "\n"))
		}
	}
}
