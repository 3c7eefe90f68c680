package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// MissingFile returns an error for a probe of a file that does not exist. A command that has to
// make the file first is traced with --children.
func MissingFile(probes []string) error {
	for _, probe := range probes {
		if path := namedFile(probe); path != "" {
			if _, err := procfs.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: %s does not exist; with --children the command, or what it starts, may make it", probe, path)
			}
		}
	}
	return nil
}

// LackingFile returns an error for a probe that its file does not have. Go programs declare
// their probes when they run.
func LackingFile(ctx context.Context, probes []string) error {
	var has []string
	for _, probe := range probes {
		if path := namedFile(probe); path != "" && !declaresLater(probe, path) {
			has = append(has, probe)
		}
	}
	if len(has) == 0 {
		return nil
	}
	_, err := attach.Find(ctx, has, nil) // once: it reads each file's symbols
	return err
}

func declaresLater(probe, path string) bool {
	if sel, err := selector.Parse(probe); err != nil || sel.Kind != reader.USDT {
		return false
	}
	f, err := reader.Open(path)
	if err != nil {
		return false // which Find says
	}
	defer f.Close()
	return f.IsGo()
}

// namedFile returns the path of the file that a probe names, "" if it names none by a path.
func namedFile(probe string) string {
	sel, err := selector.Parse(probe)
	if err != nil || sel.Kind.InKernel() {
		return ""
	}
	if path, ok := sel.LiteralPath(); ok && strings.Contains(path, "/") {
		return path
	}
	return ""
}

// InKernel reports whether some of the probes, and whether all, are functions and tracepoints of the kernel.
func InKernel(probes []string) (some, all bool) {
	all = true
	for _, probe := range probes {
		sel, err := selector.Parse(probe)
		in := err == nil && sel.Kind.InKernel()
		some, all = some || in, all && in
	}
	return some, some && all
}
