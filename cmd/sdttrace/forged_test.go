package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/sdtdump"
)

// TestForged checks that names in messages make no lines and no sequences of their own.
func TestForged(t *testing.T) {
	dir := t.TempDir()
	evil := filepath.Join(dir, "x\nsdttrace: FAKE\n\x1b[2J\u202e\u200b\u009b.usdt")
	if err := os.WriteFile(evil, []byte("\x7fELF no file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{evil + ":a:b"}, {evil + "/none:a:b"}, {"uprobe:" + evil + ":f"}, {"list", evil + ":a:b"}, {"list", "uprobe:" + evil + ":f"},
		{"--from", evil}, {"--from", evil + "none"}, {"--from", dir}, {"count", "--from", dir, evil + ":*:*"}, {"--where", evil, "--from", evil},
		{evil[1:]}, {"help", evil}, {"count", "--" + evil}, {"snapshot", evil, "a:b"}, {"stats", evil, "--show", evil, "a:b"}, {"-o", evil, "a:b"},
		{"--exe", evil + "none", "a:b"}, {"--comm", "x\nsdttrace: FAKE", "nobody_has_this:probe"}, {"--providers", evil, "a:b"}, {"top", "--cgroup", evil, "a:b"},
		{"--where", evil, "a:b"}, {"count", "--by", evil, "a:b"}, {"--format", evil, "a:b"}, {"--" + evil}, {"nobody_has_this:" + evil}, {"nobody_has_this:x", "--", evil},
		{"serve", "--listen", evil}, {"top", evil},
	} {
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if code := run(ctx, args, &stdout, &stderr); code == exitDone {
			t.Errorf("sdttrace %q: exit code %d", args, code)
		}
		cancel()
		checkLines(t, "sdttrace", args, stderr.String(), "sdttrace: ", "Try 'sdttrace ")
	}
	for _, args := range [][]string{{evil}, {dir}, {"--check", evil}, {"--format", evil, "/bin/sh"}, {"--probe", evil, "/bin/sh"}, {"--providers", evil, "/bin/sh"}} {
		var stdout, stderr bytes.Buffer
		sdtdump.Run(args, &stdout, &stderr)
		checkLines(t, "sdtdump", args, stderr.String(), "sdtdump: ")
	}
}

// checkLines checks that messages are printable lines that begin with one of the starts.
func checkLines(t *testing.T, command string, args []string, said string, starts ...string) {
	t.Helper()
	if !strings.HasSuffix(said, "\n") {
		t.Errorf("%s %q said %q", command, args, said)
	}
	for line := range strings.Lines(said) {
		line = strings.TrimSuffix(line, "\n")
		begins := false
		for _, start := range starts {
			begins = begins || strings.HasPrefix(line, start)
		}
		if !begins || strings.HasPrefix(line, "sdttrace: FAKE") {
			t.Errorf("%s %q said a line %q", command, args, line)
		}
		for _, r := range line {
			if !strconv.IsPrint(r) && r != '\t' {
				t.Errorf("%s %q said %q", command, args, line)
				break
			}
		}
	}
}
