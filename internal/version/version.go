// Package version says which version of the module a command was built from.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// String returns the version of the module, as "go install" and version control
// have told the linker, and what it was built by and for.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info) + fmt.Sprintf(" (%s %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// unversioned is what the linker is told of a module that is built where it lies.
const unversioned = "(devel)"

func of(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != unversioned {
		return v
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+dirty"
		}
	}
	if revision == "" {
		return "of unknown version"
	}
	return "devel " + revision[:min(12, len(revision))] + modified
}
