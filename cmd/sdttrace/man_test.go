package main

import (
	"flag"
	"io"
	"testing"

	"github.com/go-usdt/usdt/internal/manpage"
	"github.com/go-usdt/usdt/internal/systest/manpagetest"
)

//go:generate go test -run ^TestManual$ . -manual

var writeManual = flag.Bool("manual", false, "write the manual pages anew")

// TestManual checks that the manual pages describe the command.
func TestManual(t *testing.T) {
	root := newRootCommand(io.Discard, io.Discard)
	if *writeManual {
		if err := manpage.Write("../../man", root); err != nil {
			t.Fatal(err)
		}
	}
	manpagetest.UpToDate(t, "../../man", root)
}
