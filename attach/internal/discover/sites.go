package discover

import (
	"iter"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// Site is a probe that a selector names, in one process or in all.
type Site struct {
	Probe reader.Probe
	PID   int // 0 for all processes
	// File is the file with which the site ends; zero if the site stays.
	File procfs.ID
}

// Sites are sites in the order in which they were found, in parts: growing one
// slice would copy them again and again.
type Sites [][]Site

// Len returns the number of sites.
func (f Sites) Len() (n int) {
	for _, part := range f {
		n += len(part)
	}
	return n
}

// All yields the sites.
func (f Sites) All() iter.Seq[*Site] {
	return func(yield func(*Site) bool) {
		for _, part := range f {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// Owner is a file with which sites end, in one process or, without a PID, in all
// that are traced.
type Owner struct {
	File procfs.ID
	PID  int
}
