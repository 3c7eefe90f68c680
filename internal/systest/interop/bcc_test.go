package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// bccRows use the tools of bcc, which compile their programs with the kernel's
// headers, of any version.
func bccRows(r release) []row {
	packages := []string{"bpfcc-tools"}
	digits := "takes `arg10`, `arg11` and `arg12` for `arg1`, since it reads one digit"
	untilNUL := "reads strings up to a NUL, but those in Go structs have none: their length is the next argument"
	digitsShow, untilNULShows := "-1 2 -3 4 -5 6 -7 8 -9 -1 -1 -1", "7 -2 /index.html?with=more 11 8080"
	argdistLimits := map[string]limit{
		"12":     {mark: "in part", why: digits, shows: digitsShow},
		"record": {mark: "in part", why: untilNUL, shows: untilNULShows},
	}
	if r >= trixie {
		for _, s := range shapes {
			argdistLimits[s.column] = limit{mark: none}
		}
		for _, backing := range backings {
			argdistLimits[backing] = limit{mark: "no", says: "object has no attribute 'htab_batch_ops'", why: "it forgets to set that for USDT probes, whoever made them"}
		}
	}
	list := func(t *testing.T, p *process, args ...string) (map[string]string, string) {
		out := run(t, "tplist-bpfcc", append([]string{"-v"}, args...)...)
		return matches(`(?m)`+p.provider+`:(\w+) \[sema 0x[0-9a-f]+\]\n\s+1 location\(s\)\n\s+(\d+) argument`, out), out
	}
	counted := func(s shape) string { return fmt.Sprint(s.args) }
	return []row{
		{
			name: "`tplist -l PATH`", packages: packages, needs: []string{"tplist-bpfcc"}, want: counted,
			use: func(t *testing.T, p *process) (map[string]string, string) { return list(t, p, "-l", p.path) },
		},
		{
			name: "`tplist -p PID`", packages: packages, needs: []string{"tplist-bpfcc"}, want: counted,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				return list(t, p, "-p", fmt.Sprint(p.pid))
			},
		},
		{
			name: "`trace -p PID`", packages: packages, needs: []string{"trace-bpfcc", "unshare"}, use: bccTrace,
			want: shown,
			limits: map[string]limit{
				"12":     {mark: "in part", why: digits, shows: digitsShow},
				"record": {mark: "in part", why: untilNUL, shows: untilNULShows},
			},
		},
		{
			name: "`argdist -p PID`", packages: packages, needs: []string{"argdist-bpfcc", "unshare"}, use: bccArgdist,
			want: shown, limits: argdistLimits,
		},
	}
}

// bccTrace runs trace until it has shown every probe.
func bccTrace(t *testing.T, p *process) (map[string]string, string) {
	t.Helper()
	args := []string{"-p", fmt.Sprint(p.pid)}
	for _, s := range shapes {
		format, values := s.name, ""
		for i, note := range strings.Fields(s.note) {
			verb := map[string]string{"4": "%u", "8": "%llu", "-8": "%lld"}[size(note)]
			switch fmt.Sprint(s.name, i) {
			case "text0", "record2":
				verb = "%s"
			}
			if verb == "" {
				verb = "%d"
			}
			format, values = format+" "+verb, values+fmt.Sprintf(", arg%d", i+1)
		}
		args = append(args, fmt.Sprintf("u:%s:%s \"%s\"%s", p.path, s.name, format, values))
	}
	parse := func(said string) map[string]string { // PID TID COMM FUNC and what was asked for
		return matches(`(?m)^\d+ .* (?:`+shapeNames()+`) +(`+shapeNames()+`)( .*)?$`, said)
	}
	cmd := withHeaders(t, "trace-bpfcc", args...)
	cmd.Env = append(cmd.Environ(), "PYTHONUNBUFFERED=1")
	shown := false
	said := until(t, cmd, func(said string) bool {
		shown = len(parse(said)) == len(shapes)
		return shown
	}, func() {
		if !shown {
			return // the tool has ended
		}
		// The tool loses an interrupt while it handles an event: let it wait.
		unix.Kill(p.pid, unix.SIGSTOP)
		eventually(t, "trace waits for events that come no more", func() bool { return stopped(p.pid) && polls(cmd.Process.Pid) })
	})
	unix.Kill(p.pid, unix.SIGCONT)
	return parse(said), said
}

// bccArgdist makes argdist count arguments for a second.
func bccArgdist(t *testing.T, p *process) (map[string]string, string) {
	t.Helper()
	args := []string{"-p", fmt.Sprint(p.pid), "-n", "1", "-i", "1"}
	for _, s := range shapes {
		var types, values []string
		for i, note := range strings.Fields(s.note) {
			typ := map[string]string{"4": "u32", "8": "u64", "-8": "s64"}[size(note)]
			switch fmt.Sprint(s.name, i) {
			case "text0", "record2":
				typ = "char*"
			}
			if typ == "" {
				typ = "int"
			}
			types, values = append(types, typ), append(values, fmt.Sprintf("arg%d", i+1))
		}
		spec := fmt.Sprintf("u:%s:%s()", p.path, s.name)
		if len(types) > 0 {
			spec += ":" + strings.Join(types, ",") + ":" + strings.Join(values, ",")
		}
		args = append(args, "-C", spec)
	}
	out, err := withHeaders(t, "timeout", append([]string{atMost, "argdist-bpfcc"}, args...)...).CombinedOutput()
	if err != nil {
		t.Logf("argdist: %v", err)
	}
	// Below the specifier and a heading is the count, and each "argN = value".
	all := matches(`(?m)^u:.*:(`+shapeNames()+`)\(\).*\n\s+COUNT.*\n\s+\d+ +(.*)$`, string(out))
	value := regexp.MustCompile(`arg\d+ = (?:b'(.*?)'|(-?\d+))`)
	for name, line := range all {
		var values []string
		for _, m := range value.FindAllStringSubmatch(line, -1) {
			values = append(values, strings.ReplaceAll(m[1]+m[2], `\xc3\xa9`, "\xc3\xa9"))
		}
		all[name] = strings.Join(values, " ")
	}
	return all, string(out)
}

// size returns the size of an argument as a note has it, with its sign.
func size(note string) string {
	return note[:strings.Index(note, "@")]
}

// stopped reports whether all threads of a process have stopped.
func stopped(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range stats {
		if b, _ := os.ReadFile(name); !strings.Contains(string(b), ") T ") {
			return false
		}
	}
	return len(stats) > 0
}

// polls reports whether a process waits in poll, epoll_wait or a similar system
// call, by their numbers on x86-64.
func polls(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	number, _, _ := strings.Cut(string(b), " ")
	return slices.Contains([]string{"7", "271", "232", "281"}, number)
}
