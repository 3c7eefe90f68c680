package sdtdump

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// cxxLibrary returns the C++ library, whose probes have known arguments.
func cxxLibrary(t *testing.T) string {
	t.Helper()
	for _, arch := range []string{"x86_64", "aarch64"} {
		if path := "/usr/lib/" + arch + "-linux-gnu/libstdc++.so.6"; exists(path) {
			return path
		}
	}
	needs.Skip(t, "needs libstdc++.so.6")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestKnown checks the names that each format shows of a probe whose object has none,
// with Known's prototypes, with a user's file and with none.
func TestKnown(t *testing.T) {
	path := cxxLibrary(t)
	mine := filepath.Join(t.TempDir(), "mine.probes")
	if err := os.WriteFile(mine, []byte("libstdcxx:throw(void *thrown, struct type_info *info)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format                string
		known, user, withouts string
	}{
		{"text", "\n      void *exception; char *type->8 cxx;\n", "\n      void *thrown; type_info *info;\n", "(uint64 "},
		{"markdown", "| `exception uintptr`, `type string` |", "| `thrown uintptr`, `info uintptr` |", "| `arg0 uint64`, `arg1 uint64` |"},
		{"bpftrace", `exception=%llu type=%s\n", arg0, str(*(uint64 *)(arg1 + 8)))`, `thrown=%llu info=%llu\n", arg0, arg1)`, `arg0=%llu arg1=%llu\n", arg0, arg1)`},
		{"uprobe_events", ":string\n", " info=", " arg1="},
		{"c", "#define libstdcxx_throw const void *exception, const void *type\n", "#define libstdcxx_throw const void *thrown, const void *info\n", ""},
	} {
		args := []string{"--probe", "libstdcxx:throw", "--format", c.format, path}
		if got := output(t, args...); !strings.Contains(got, c.known) {
			t.Errorf("%s: got %s, want %s", c.format, got, c.known)
		}
		if got := output(t, append(args, "--providers", mine)...); !strings.Contains(got, c.user) {
			t.Errorf("%s with a user's file: got %s, want %s", c.format, got, c.user)
		}
		if c.withouts == "" {
			continue
		}
		if got := output(t, append(args, "--providers", "none")...); !strings.Contains(got, c.withouts) || strings.Contains(got, "exception") {
			t.Errorf("%s without names: got %s, want %s", c.format, got, c.withouts)
		}
		if got := output(t, append(args, "--providers", "none,"+mine)...); !strings.Contains(got, c.user) {
			t.Errorf("%s with a user's file only: got %s, want %s", c.format, got, c.user)
		}
	}
	var probe struct {
		Arguments []struct{ Name, Type, Unit string }
	}
	if err := json.Unmarshal([]byte(output(t, "--json", "--probe", "libstdcxx:throw", path)), &probe); err != nil {
		t.Fatal(err)
	}
	want := []struct{ Name, Type, Unit string }{{Name: "exception", Type: "void *"}, {Name: "type", Type: "char *", Unit: "cxx"}}
	if d := cmp.Diff(want, probe.Arguments); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
}

// TestKnownErrors checks what is wrong usage.
func TestKnownErrors(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong.probes")
	if err := os.WriteFile(wrong, []byte("# mine\nmine:x(oid a)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, want string }{
		{wrong, "sdtdump: " + wrong + ":2: the type oid is unknown"},
		{filepath.Join(t.TempDir(), "absent"), "no such file or directory"},
	} {
		var stdout, stderr strings.Builder
		if code := Run([]string{"--providers", c.file, "/bin/true"}, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %s", c.file, code, &stderr, exitUsage, c.want)
		}
	}
}

// TestKnownInC compiles a program for usdt.bpf.h with the macros of --format c.
func TestKnownInC(t *testing.T) {
	needs.Tools(t, "clang")
	if !exists("/usr/include/bpf/usdt.bpf.h") {
		needs.Skip(t, "needs libbpf-dev")
	}
	source := `#include <stdbool.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
` + output(t, "--format", "c", cxxLibrary(t)) + `
SEC("usdt") int BPF_USDT(program, libstdcxx_throw)
{
	const char *name;
	bpf_probe_read_user(&name, sizeof name, type + 8);
	return exception != 0 && name != 0;
}
`
	arch := map[bool]string{true: "x86", false: "arm64"}[strings.Contains(cxxLibrary(t), "x86_64")]
	cmd := exec.Command("clang", "-target", "bpf", "-D__TARGET_ARCH_"+arch, "-I"+filepath.Join("/usr/include", filepath.Base(filepath.Dir(cxxLibrary(t)))), "-O2", "-g", "-Wall", "-Wno-unused-function", "-c", "-xc", "-o", os.DevNull, "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("clang: %v\n%s\n%s", err, out, source)
	}
}
