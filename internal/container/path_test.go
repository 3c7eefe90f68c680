package container_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/container"
)

const (
	id  = "4f0c2e9b7a6d5c4b3a29181716151413121110090807060504030201abcdef01"
	uid = "0f3a5c7e-9b1d-4e2f-8a6b-1c2d3e4f5a6b"
)

// filled has the long words of testdata/paths.txt.
var filled = strings.NewReplacer(
	"U_", strings.ReplaceAll(uid, "-", "_"), "U", uid, "J", strings.Repeat("ab", 32), "H", strings.Repeat("0d", 16), "/I", "/"+id, "-I", "-"+id, ":I", ":"+id, " I", " "+id)

// TestBelow finds the path in a hierarchy of what users name, patterns included.
func TestBelow(t *testing.T) {
	const two, cpu, only = "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"
	for _, c := range []struct {
		root, name, want string
		begins           bool
	}{
		{cpu, "/sys/fs/cgroup/cpu,cpuacct/web", "web", true},
		{cpu, "cpu,cpuacct/web", "web", true},
		{cpu, "web", "web", false},
		{cpu, "unified/web", "unified/web", false},
		{two, "unified/web", "web", true},
		{two, "unified/we*/[ab]", "we*/[ab]", true},
		{two, "/sys/fs/cgroup//unified/we*", "we*", true},
		{two, "unified", "", true},
		{two, "unif*/web", "unif*/web", false},
		{two, "/system.slice", "/system.slice", false},
		{only, "/sys/fs/cgroup/web", "web", true},
		{only, "web/one", "web/one", false},
	} {
		if got, begins := container.Below(c.root, c.name); got != c.want || begins != c.begins {
			t.Errorf("%s in %s: %s, %v, want %s, %v", c.name, c.root, got, begins, c.want, c.begins)
		}
	}
}

func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || line == "\n" {
			continue
		}
		path, want, ok := strings.Cut(filled.Replace(strings.TrimSpace(line)), " | ")
		if !ok {
			t.Fatalf("line %q", line)
		}
		of := container.Parse(path)
		got := strings.Join([]string{orNone(of.Runtime), orNone(of.ID), orNone(of.Pod)}, " ")
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		tried++
	}
	if tried < 20 {
		t.Errorf("only %d paths were tried", tried)
	}
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
