package interop_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// bpftraceRows use bpftrace by path, which traces all processes that map the
// object, by process, and as sdtdump says.
func bpftraceRows(r release) []row {
	packages, needs := []string{"bpftrace"}, []string{"bpftrace"}
	limits, dumpLimits := map[string]limit{}, map[string]limit{}
	for _, s := range shapes {
		if s.args > 6 {
			limits[s.column] = limit{mark: "in part", why: "it reads no more than six arguments", says: "x86_64 doesn't support arg6", shows: firstSix(s.values)}
			dumpLimits[s.column] = limit{mark: "in part", why: "reads no more than six arguments, and sdtdump writes no more", shows: firstSix(s.values)}
		}
	}
	if r >= trixie {
		limits["record"] = limit{mark: "in part", shows: "7 -2 /index.htm 8080",
			why: "takes a length in `str(arg2, arg3)` that includes a NUL, and leaves out the last byte: `str(arg2, arg3 + 1)` and `buf(arg2, arg3)` have it"}
	}
	values := func(s shape) string {
		if s.name == "record" {
			return "7 -2 /index.html 8080" // str has taken the length
		}
		return s.values
	}
	list := func(t *testing.T, p *process, args ...string) (map[string]string, string) {
		out := run(t, "bpftrace", append([]string{"-l"}, args...)...)
		return matches(`usdt:.*:`+p.provider+`:(\w+)()`, out), out
	}
	return []row{
		{
			name: "`bpftrace -l usdt:PATH:*`", packages: packages, needs: needs, want: listed,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				return list(t, p, "usdt:"+p.path+":*")
			},
		},
		{
			name: "`bpftrace -l -p PID`", packages: packages, needs: needs, want: listed,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				return list(t, p, "usdt:*", "-p", fmt.Sprint(p.pid))
			},
		},
		{
			name: "`bpftrace -e usdt:PATH:…`", packages: packages, needs: needs, want: values, limits: limits,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				return bpftrace(t, p, p.path)
			},
		},
		{
			name: "`bpftrace -p PID`", packages: packages, needs: needs, want: values, limits: limits,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				return bpftrace(t, p, "*", "-p", fmt.Sprint(p.pid))
			},
		},
		{
			name: "`bpftrace` with what `sdtdump --format bpftrace` writes", packages: packages, needs: needs, want: values, limits: dumpLimits,
			use: bpftraceDumped,
		},
	}
}

// bpftraceDumped runs the bpftrace program that sdtdump writes for a process,
// with -p if sdtdump says so.
func bpftraceDumped(t *testing.T, p *process) (map[string]string, string) {
	t.Helper()
	program := run(t, needs.Build(t, "cmd/sdtdump"), "-p", fmt.Sprint(p.pid), "--probe", p.provider+":*", "--format", "bpftrace")
	args := []string{"-B", "line", "-e", program}
	if strings.HasPrefix(program, fmt.Sprintf("// bpftrace -p %d\n", p.pid)) {
		args = append(args, "-p", fmt.Sprint(p.pid))
	}
	parse := func(said string) map[string]string {
		said = regexp.MustCompile(`(?m) \w+=`).ReplaceAllString(said, " ")
		return lines(strings.NewReplacer(p.provider+":", "", `\xc3\xa9`, "\xc3\xa9").Replace(said))
	}
	cmd := exec.CommandContext(t.Context(), "bpftrace", args...)
	said := until(t, cmd, func(said string) bool { return len(parse(said)) == len(shapes) }, func() {})
	return parse(said), program + said
}

func firstSix(values string) string {
	return strings.Join(strings.Fields(values)[:6], " ")
}

// bpftrace prints the events of every shape, with six arguments each if it
// refuses more.
func bpftrace(t *testing.T, p *process, path string, args ...string) (map[string]string, string) {
	t.Helper()
	script := func(most int) string {
		var b strings.Builder
		for _, s := range shapes {
			format, values := "", ""
			for i, note := range strings.Fields(s.note)[:min(s.args, most)] {
				verb, arg := " %ld", fmt.Sprintf(", arg%d", i)
				if size(note) == "8" {
					verb = " %lu"
				}
				switch s.name + arg {
				case "text, arg0":
					verb, arg = " %s", ", str(arg0)"
				case "record, arg2":
					verb, arg = " %s", ", str(arg2, arg3)"
				case "record, arg3":
					verb, arg = "", ""
				}
				format, values = format+verb, values+arg
			}
			fmt.Fprintf(&b, "usdt:%s:%s:%s { printf(\"%s%s\\n\"%s); }\n", path, p.provider, s.name, s.name, format, values)
		}
		return b.String()
	}
	trace := func(most int) string {
		cmd := exec.CommandContext(t.Context(), "bpftrace", append(args, "-B", "line", "-e", script(most))...)
		return until(t, cmd, func(said string) bool { return len(lines(said)) == len(shapes) }, func() {})
	}
	out := trace(12)
	if shown := lines(out); len(shown) > 0 {
		return shown, out
	}
	fewer := trace(6)
	return lines(fewer), out + fewer
}
