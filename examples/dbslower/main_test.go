package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tool"
)

func TestRun(t *testing.T) {
	lines := tool.SlowStatements(t, run)
	if len(lines) < 2 {
		t.Fatalf("got %q, want a histogram", lines)
	}
	sum := 0
	for _, line := range lines {
		n := 0
		if _, err := fmt.Sscanf(line[strings.Index(line, ": "):], ": %d of 3", &n); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		sum += n
	}
	if sum != 3 {
		t.Errorf("got %q, want three statements in the histogram", lines)
	}
}
