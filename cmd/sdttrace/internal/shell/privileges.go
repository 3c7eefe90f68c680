package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Unprivileged returns how a command that may be, or start, a Go service is traced without
// privileges, as text to append to how it is traced with them; "" if there is no command, or
// if what is traced are functions.
func Unprivileged(args []string) string {
	at := slices.Index(args, "--")
	if at < 0 {
		return ""
	}
	for _, a := range args[:at] {
		if strings.HasPrefix(a, "uprobe:") || strings.HasPrefix(a, "uretprobe:") || a == "--user" {
			return ""
		}
	}
	user := slices.Insert(slices.Clone(args), at, "--user")
	return "; the probes that a Go service declares can be traced without: " + join("sdttrace", user)
}

// Privileged returns the command that runs this one with privileges. It does not
// name a program that "go run" built, which is gone when the user reads it.
func Privileged(args []string) string {
	exe, err := os.Executable()
	switch {
	case err != nil:
		return join("sudo sdttrace", args)
	case strings.Contains(exe, string(filepath.Separator)+"go-build"):
		return join("go build -o sdttrace ./cmd/sdttrace && sudo ./sdttrace", args)
	}
	return join("sudo "+Quote(exe), args)
}
