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
	for _, c := range cmd.Commands() {
		all = append(all, c.Commands()...)
	}
	for _, c := range all {
		if c != cmd && !c.IsAvailableCommand() {
			continue
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		var b bytes.Buffer
		header := doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: "usdt", Manual: "User Commands"}
		long := c.Long
		c.Long = markdown(long)
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

// markdown returns help as Markdown, which package doc reads: indented lines are a block, a short
// line alone above a paragraph is a heading, and no character is a mark.
func markdown(help string) string {
	var b strings.Builder
	lines := strings.Split(help, "\n")
	block := false
	for i, line := range lines {
		first, last := i == 0 || lines[i-1] == "", i+1 == len(lines) || lines[i+1] == ""
		switch {
		case strings.HasPrefix(line, "  "):
			if !block {
				b.WriteString("\n")
			}
			b.WriteString("    " + line + "\n")
		case line != "" && first && !last && len(line) < 40 && !strings.ContainsAny(line[len(line)-1:], ".,:;"):
			b.WriteString("**" + marks.Replace(line) + "**\n\n")
		default:
			if block {
				b.WriteString("\n")
			}
			b.WriteString(marks.Replace(line) + "\n")
		}
		block = strings.HasPrefix(line, "  ")
	}
	return strings.TrimSpace(b.String())
}

// marks escapes characters that mean something in Markdown.
var marks = strings.NewReplacer("*", `\*`, "<", `\<`, "`", "\\`")
