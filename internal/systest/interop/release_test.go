package interop_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// A release is a release of Debian. The tables have a column of versions for
// each, and separate rows and limits where its tools and programs differ.
type release int

const (
	bookworm release = 12
	trixie   release = 13
)

var releases = []release{bookworm, trixie}

func (r release) String() string { return fmt.Sprintf("Debian %d", int(r)) }

// target returns the make target for the release's part of the tables.
func (r release) target() string {
	if r == trixie {
		return "make interop-trixie"
	}
	return "make interop"
}

// installedRelease returns the release that this machine runs.
func installedRelease(t *testing.T) release {
	t.Helper()
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		needs.Skip(t, "needs one of %v: %v", releases, err)
	}
	if m := regexp.MustCompile(`(?m)^VERSION_ID="?(\d+)"?$`).FindSubmatch(b); m != nil && regexp.MustCompile(`(?m)^ID=debian$`).Match(b) {
		id, _ := strconv.Atoi(string(m[1]))
		for _, r := range releases {
			if int(r) == id {
				return r
			}
		}
	}
	needs.Skip(t, "needs one of %v, whose tools the tables are of", releases)
	return 0
}
