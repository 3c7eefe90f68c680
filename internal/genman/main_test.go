package main

import (
	"testing"

	"github.com/go-usdt/usdt/internal/sdtdump"
	"github.com/go-usdt/usdt/internal/systest/manpagetest"
)

// TestUpToDate checks that the manual pages match the commands.
func TestUpToDate(t *testing.T) { manpagetest.UpToDate(t, "../../man", sdtdump.Command()) }
