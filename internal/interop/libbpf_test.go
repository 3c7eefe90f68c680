package interop_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// compilerRows use what compiles a program for each question: libbpf and
// SystemTap.
func compilerRows() []row {
	return []row{
		{
			name: "libbpf, `bpf_program__attach_usdt`", packages: []string{"libbpf-dev"}, needs: []string{"clang", "gcc"}, use: libbpf, want: shown,
			limits: map[string]limit{
				"string": {mark: "yes", why: "the program gets the address and reads the string itself", shows: "ADDRESS 1"},
				"record": {mark: "yes", why: "the program gets the address and reads the string itself", shows: "7 -2 ADDRESS 11 8080"},
			},
		},
		{
			name: "`stap -L`", packages: []string{"systemtap"}, needs: []string{"stap", "unshare"},
			want: func(s shape) string { return fmt.Sprint(s.args) },
			use: func(t *testing.T, p *process) (map[string]string, string) {
				out, err := withHeaders(t, "timeout", "60", "stap", "-L", fmt.Sprintf("process(%q).provider(%q).mark(\"*\")", p.path, p.provider)).CombinedOutput()
				if err != nil {
					t.Logf("stap: %v", err)
				}
				got := matches(`(?m)^process.*\.mark\("(\w+)"\)(.*)$`, string(out))
				for name, args := range got {
					got[name] = fmt.Sprint(len(regexp.MustCompile(`\$arg\d+:long`).FindAllString(args, -1)))
				}
				return got, string(out)
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
