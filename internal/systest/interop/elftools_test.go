package interop_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/sdtdump"
)

// atMost is patience for timeout(1).
var atMost = fmt.Sprint(patience.Seconds())

// run runs a tool and returns what it wrote to both outputs. The table judges
// whether a tool failed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "timeout", append([]string{atMost, name}, args...)...).CombinedOutput()
	if err != nil {
		t.Logf("%s %q: %v", name, args, err)
	}
	return string(out)
}

// elfTools read objects, and attach to nothing.
func elfTools() []row {
	asNote := func(s shape) string { return s.note }
	return []row{
		{
			name: "`readelf -n`", packages: []string{"binutils"}, needs: []string{"readelf"}, want: asNote,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				out := run(t, "readelf", "-n", p.path)
				if all := run(t, "readelf", "-aW", p.path); regexp.MustCompile(`(?i)warning|error:`).MatchString(all) {
					t.Errorf("readelf -a complains:\n%s", all)
				}
				return matches(`Provider: `+p.provider+`\n\s+Name: (\w+)\n.*\n\s+Arguments: (.*)`, out), out
			},
		},
		{
			name: "`eu-readelf -n`", packages: []string{"elfutils"}, needs: []string{"eu-readelf"}, want: asNote,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				out := run(t, "eu-readelf", "-n", p.path)
				for line := range strings.Lines(run(t, "eu-elflint", "--gnu-ld", p.path)) {
					// The tool knows no such notes, whoever wrote them.
					if !strings.Contains(line, "unknown object file note type 3 with owner name 'stapsdt'") {
						t.Errorf("eu-elflint complains: %s", line)
					}
				}
				return matches(`Provider: `+p.provider+`, Name: (\w+), Args: '(.*)'`, out), out
			},
		},
		{
			name: "`bpftool btf dump`", packages: []string{"bpftool"}, needs: []string{"bpftool"},
			use: func(t *testing.T, p *process) (map[string]string, string) {
				out := run(t, "bpftool", "btf", "dump", "file", p.path, "format", "c")
				shown := map[string]string{"zero": ""}
				for _, m := range regexp.MustCompile(`(?s)struct usdt_args_\d+ \{(.*?)\n\};`).FindAllStringSubmatch(out, -1) {
					members := strings.Join(strings.Fields(strings.ReplaceAll(m[1], "long: 0;", "")), " ")
					for _, s := range shapes {
						if members == btfMembers[s.name] {
							shown[s.name] = members
						}
					}
				}
				return shown, out
			},
			want:   func(s shape) string { return btfMembers[s.name] },
			limits: map[string]limit{"0": {mark: none}},
		},
		{
			name: "`sdtdump --check`", want: func(shape) string { return "right" },
			use: func(t *testing.T, p *process) (map[string]string, string) {
				var out, stderr strings.Builder
				sdtdump.Run([]string{"--check", p.path}, &out, &stderr)
				said := out.String() + stderr.String()
				shown := map[string]string{}
				for name := range p.probes {
					if !strings.Contains(said, p.provider+":"+name) && !strings.Contains(said, "every consumer") {
						shown[name] = "right"
					}
				}
				return shown, said
			},
		},
	}
}

// btfMembers are the members of the structs of arguments.
var btfMembers = map[string]string{
	"three":  "int a; unsigned long long b; signed char c;",
	"six":    "signed char a; unsigned char b; short c; unsigned short d; int e; unsigned long long f;",
	"eight":  "signed char A; unsigned char B; short C; unsigned short D; int E; unsigned int F; long long G; unsigned long long H;",
	"twelve": "int A; int B; int C; int D; int E; int F; int G; int H; int I; int J; int K; int L;",
	"text":   "const char *s; _Bool ok; unsigned long long __s_len;",
	"record": "unsigned long long ID; short Code; const char *Path; unsigned long long __Path_len; struct { unsigned short Port; } From;",
}
