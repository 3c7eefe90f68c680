package procfs_test

import (
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
)

// TestTranslatorAt knows programs that translate code, and no others of similar names.
func TestTranslatorAt(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/libexec/valgrind/memcheck-amd64-linux":        "valgrind",
		"/usr/lib/x86_64-linux-gnu/valgrind/none-x86-linux": "valgrind",
		"/opt/valgrind/lib/valgrind/helgrind-arm64-linux":   "valgrind",
		"/usr/bin/qemu-x86_64-static":                       "QEMU",
		"/usr/bin/qemu-i386":                                "QEMU",
		"/usr/bin/qemu-aarch64":                             "QEMU",
		"/usr/bin/valgrind":                                 "", // which executes a tool
		"/usr/bin/qemu-system-x86_64":                       "",
		"/usr/bin/qemu-img":                                 "",
		"/usr/bin/bash":                                     "",
		"/home/u/valgrind/a.out":                            "",
		"":                                                  "",
	} {
		if got := procfs.TranslatorAt(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
