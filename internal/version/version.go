// Package version reports the version of the module from which a command was built.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// String returns the version of the module, as "go install" and version control have
// given it to the linker, and the toolchain and platform of the build.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info) + fmt.Sprintf(" (%s %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// unversioned is the version that the linker gets for a module that is built in its
// own directory.
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
