package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// debuggerRows use gdb and lldb.
func debuggerRows() []row {
	packages, needs := []string{"gdb"}, []string{"gdb"}
	unlinked := limit{mark: "no", says: "No probes matched", why: "it asks the dynamic linker for objects, which does not know of this one; `add-symbol-file PATH -o BASE` tells it"}
	symbols := limit{mark: "in part", says: "error: unknown or ambiguous option", shows: "stops",
		why: "it knows no USDT probes, and sets breakpoints on the stubs' symbols, `PROVIDER__NAME`, without arguments"}
	unknown := limit{mark: "no", says: "error: unknown or ambiguous option", why: "it knows no USDT probes, and finds symbols in what the dynamic linker loaded only"}
	lldbLimits := map[string]limit{"memfd": unknown, "file": unknown, "dlopen": symbols}
	for _, s := range shapes {
		lldbLimits[s.column] = symbols
	}
	return []row{
		{
			name: "`lldb -p PID`", packages: []string{"lldb"}, needs: []string{"lldb"}, want: shown, limits: lldbLimits,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				args := []string{"--batch", "--no-lldbinit", "-p", fmt.Sprint(p.pid)}
				for _, s := range shapes {
					args = append(args, "-o", "breakpoint set -n "+p.provider+"__"+s.name)
				}
				out := run(t, "lldb", args...)
				got := matches("Breakpoint \\d+: where = .*`"+p.provider+`__(\w+), address = 0x[0-9a-f]+()`, out)
				for name := range got {
					got[name] = "stops"
				}
				return got, out + run(t, "lldb", "--batch", "--no-lldbinit", "-p", fmt.Sprint(p.pid), "-o", "breakpoint set --probe-stap "+p.provider+":three")
			},
		},
		{
			name: "`gdb PATH`", packages: packages, needs: needs, want: listed,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				out := run(t, "gdb", "-nx", "-batch", "-ex", "info probes stap", p.path)
				return matches(`(?m)^stap +`+p.provider+` +(\w+) +0x0*1[0-9a-f]{3} +0x[0-9a-f]+()`, out), out
			},
		},
		{
			name: "`gdb -p PID`", packages: packages, needs: needs, want: shown,
			limits: map[string]limit{"memfd": unlinked, "file": unlinked},
			use:    func(t *testing.T, p *process) (map[string]string, string) { return gdb(t, p) },
		},
		{
			name: "`gdb -p PID`, `add-symbol-file`", packages: packages, needs: needs, want: shown,
			use: func(t *testing.T, p *process) (map[string]string, string) {
				return gdb(t, p, "-ex", fmt.Sprintf("add-symbol-file %s -o %#x", p.path, p.base))
			},
		},
	}
}

// gdb stops once at each probe and prints its arguments.
func gdb(t *testing.T, p *process, args ...string) (map[string]string, string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("set language c\nset breakpoint pending off\n")
	for _, s := range shapes {
		fmt.Fprintf(&b, "tbreak -probe-stap %s:%s\ncommands\nsilent\nprintf \"%s\"\n", p.provider, s.name, s.name)
		for i, note := range strings.Fields(s.note) {
			switch fmt.Sprint(s.name, i) {
			case "text0":
				b.WriteString("printf \" %s\", (char *)$_probe_arg0\n")
			case "record2": // the next argument is the length, 11
				b.WriteString("printf \" \"\noutput *(char(*)[11])$_probe_arg2\n")
			default:
				verb := "%ld"
				if size(note) == "8" {
					verb = "%lu"
				}
				fmt.Fprintf(&b, "printf \" %s\", $_probe_arg%d\n", verb, i)
			}
		}
		b.WriteString("printf \"\\n\"\nend\n")
	}
	b.WriteString(strings.Repeat("continue\n", len(shapes)))
	script := filepath.Join(t.TempDir(), "gdb")
	if err := os.WriteFile(script, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-nx", "-batch", "-p", fmt.Sprint(p.pid)}, args...)
	args = append(args, "-ex", "info probes stap "+p.provider, "-x", script)
	out := run(t, "gdb", args...)
	return lines(strings.ReplaceAll(out, `"`, "")), out
}
