// Package manpage writes commands as manual pages.
package manpage

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// date is shown at the bottom of the pages. It is fixed so that the same command
// gives the same page.
var date = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// Pages returns the pages of a command and its subcommands by file name.
func Pages(cmd *cobra.Command) (map[string][]byte, error) {
	cmd.SetHelpCommand(&cobra.Command{Hidden: true}) // has no page
	cmd.DisableAutoGenTag = true
	pages := map[string][]byte{}
	all := append([]*cobra.Command{cmd}, cmd.Commands()...)
	for _, c := range all {
		if c != cmd && !c.IsAvailableCommand() {
			continue
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		var b bytes.Buffer
		header := doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: "usdt", Manual: "User Commands"}
		long := c.Long
		c.Long = strings.ReplaceAll(long, "'*'", `'\*'`) // GenMan reads Markdown, where a star begins emphasis
		err := doc.GenMan(c, &header, &b)
		c.Long = long
		if err != nil {
			return nil, fmt.Errorf("manual page of %s: %w", name, err)
		}
		pages[name+".1"] = b.Bytes()
	}
	return pages, nil
}

// Write writes the command's pages into a directory.
func Write(dir string, cmd *cobra.Command) error {
	pages, err := Pages(cmd)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := os.WriteFile(filepath.Join(dir, name), pages[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
