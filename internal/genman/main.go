// Command genman writes the manual pages, made from the commands themselves,
// into the directory that is its argument.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/go-usdt/usdt/internal/dump"
)

//go:generate go run . ../../man

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genman DIR")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "genman: %v\n", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	for name, cmd := range commands() {
		page, err := page(cmd)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commands returns the commands by the names of their pages.
func commands() map[string]*cobra.Command {
	return map[string]*cobra.Command{
		"sdtdump.1": dump.Command(),
	}
}

// date stands at the bottom of the pages; it is fixed so that the same command
// gives the same page.
var date = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

func page(cmd *cobra.Command) ([]byte, error) {
	cmd.DisableAutoGenTag = true
	var b bytes.Buffer
	err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Date: &date, Source: "usdt", Manual: "User Commands"}, &b)
	return b.Bytes(), err
}
