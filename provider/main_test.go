//go:build linux

package provider_test

import (
	"flag"
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/leftover"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *loader == "dlopen" {
		os.Exit(m.Run()) // what the dynamic linker has loaded stays
	}
	os.Exit(leftover.Run(m))
}
