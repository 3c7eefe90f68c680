//go:build linux && (amd64 || arm64)

package main

import (
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tool"
)

func TestRun(t *testing.T) {
	if rest := tool.SlowStatements(t, run); len(rest) > 0 {
		t.Errorf("got also %q", rest)
	}
}
