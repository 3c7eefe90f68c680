package remark_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestReplaced names the process that runs a program which an upgrade has replaced, once, and none before.
func TestReplaced(t *testing.T) {
	needs.Tools(t, "sleep")
	program, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "service")
	install := func() {
		t.Helper()
		if err := os.WriteFile(path+".new", text, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	said := func(exe string, probes ...string) string {
		var b strings.Builder
		remark.Replaced(&b, nil, exe, probes)
		return b.String()
	}
	install()
	service := exec.Command(path, "600")
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Process.Kill(); service.Wait() })
	if got := said(path); got != "" {
		t.Errorf("before it is replaced: %s", got)
	}
	install()
	want := fmt.Sprintf("sdttrace: process %d runs the file that was at %s before it was replaced, and is not traced: -p %[1]d traces it\n", service.Process.Pid, path)
	for _, got := range []string{said(path), said("", path+":p:n"), said(path, "uprobe:"+path+":main")} {
		if got != want {
			t.Errorf("got %swant %s", got, want)
		}
	}
	if got := said("", "service:p:n", "p:n"); got != "" {
		t.Errorf("without a path: %s", got)
	}
}
