package main

import (
	"testing"

	"github.com/go-usdt/usdt/internal/dump"
	"github.com/go-usdt/usdt/internal/manpage/manpagetest"
)

// TestUpToDate fails when a command has changed and its page has not.
func TestUpToDate(t *testing.T) { manpagetest.UpToDate(t, "../../man", dump.Command()) }
