package main

import (
	"testing"

	"github.com/go-usdt/usdt/internal/manpage/manpagetest"
	"github.com/go-usdt/usdt/internal/sdtdump"
)

// TestUpToDate fails when a command has changed and its page has not.
func TestUpToDate(t *testing.T) { manpagetest.UpToDate(t, "../../man", sdtdump.Command()) }
