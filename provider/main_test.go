//go:build linux

package provider_test

import (
	"flag"
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// roles are what this test binary can be besides a test.
var roles = tracee.Roles{}

func TestMain(m *testing.M) {
	tracee.Run(roles)
	flag.Parse()
	if *loader == "dlopen" {
		os.Exit(m.Run()) // what the dynamic linker has loaded stays
	}
	os.Exit(leftover.Run(m))
}

// raced says that the race detector is there.
var raced bool
