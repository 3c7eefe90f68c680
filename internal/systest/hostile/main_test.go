package hostile_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// hostile assembles testdata/hostile.S.
func hostile(t testing.TB) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	needs.Root(t)
	out := filepath.Join(t.TempDir(), "hostile")
	if msg, err := exec.Command("gcc", "-nostdlib", "-static", "-o", out, "testdata/hostile.S").CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc: %v: %s", err, msg)
	}
	return out
}

// needPrivileges skips the test if this process may not attach.
func needPrivileges(t testing.TB, err error) {
	t.Helper()
	if p := (*attach.PrivilegeError)(nil); errors.As(err, &p) {
		needs.Skip(t, "%v", err)
	}
}
