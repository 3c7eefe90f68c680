package interop_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// bpftraceRows use bpftrace by path, which traces all processes that map the
// object, and by process.
func bpftraceRows() []row {
	packages, needs := []string{"bpftrace"}, []string{"bpftrace"}
	limits := map[string]limit{}
	for _, s := range shapes {
		if s.args > 6 {
			limits[s.column] = limit{mark: "in part", why: "it reads no more than six arguments", says: "x86_64 doesn't support arg6", shows: firstSix(s.values)}
		}
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
	}
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
