package remark

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Seldom reports which of the probes fire less often than their names say, and when.
func Seldom(stderr io.Writer, s session.Session, table *prototype.Table) {
	for _, text := range Notes(s, table) {
		fmt.Fprintf(stderr, "sdttrace: %s\n", text)
	}
}

// Notes returns what is known of when probes fire, one sentence for all probes with the same remark.
func Notes(s session.Session, table *prototype.Table) []string {
	notes := known(s.Plan(), ": ", func(p *reader.Probe) string { return table.Note(p.Path, p.Provider, p.Name) })
	for i := range notes {
		notes[i] = printable.String(notes[i])
	}
	return notes
}

// Ended reports which of the processes that were traced have ended.
func Ended(stderr io.Writer, pids []int) {
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if errors.Is(err, fs.ErrNotExist) || bytes.Contains(status, []byte("\nState:\tZ")) && len(threads) < 2 {
			fmt.Fprintf(stderr, "sdttrace: process %d has ended\n", pid)
		}
	}
}
