package interop_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libbpfRows use a program with libbpf, in C.
func libbpfRows() []row {
	return []row{
		{
			name: "libbpf, `bpf_program__attach_usdt`", packages: []string{"libbpf-dev"}, needs: []string{"clang", "gcc"}, use: libbpf, want: shown,
			limits: map[string]limit{
				"string": {mark: "yes", why: "the program gets the address and reads the string itself", shows: "ADDRESS 1"},
				"record": {mark: "yes", why: "the program gets the address and reads the string itself", shows: "7 -2 ADDRESS 11 8080"},
			},
		},
	}
}

// libbpf builds testdata/libbpf and runs it.
func libbpf(t *testing.T, p *process) (map[string]string, string) {
	t.Helper()
	dir := t.TempDir()
	object, loader := filepath.Join(dir, "usdt.bpf.o"), filepath.Join(dir, "loader")
	for _, cmd := range []*exec.Cmd{
		exec.Command("clang", "-O2", "-g", "-Wall", "-target", "bpf", "-D__TARGET_ARCH_x86", "-I/usr/include/x86_64-linux-gnu", "-c", "testdata/libbpf/usdt.bpf.c", "-o", object),
		exec.Command("gcc", "-O2", "-Wall", "testdata/libbpf/loader.c", "-o", loader, "-lbpf"),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	args := []string{object, fmt.Sprint(p.pid), p.path, p.provider}
	for _, s := range shapes {
		signs := ""
		for _, note := range strings.Fields(s.note) {
			signs += map[bool]string{true: "d", false: "u"}[note[0] == '-']
		}
		args = append(args, s.name+"="+signs)
	}
	out := run(t, loader, args...)
	return addresses(lines(out)), out
}
