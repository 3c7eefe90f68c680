package unprivileged

import (
	"slices"
	"strings"
)

// tailLines is the number of last lines that failures returns.
const tailLines = 40

// failures shortens the output of a failed run with -test.v to the names and the
// output of the tests that failed or did not end, and the last lines. CI keeps
// only the beginning of long output.
func failures(output string) string {
	said := map[string][]string{}
	var order, failed, tail []string
	ended := map[string]bool{}
	var name string // whose output the next lines are
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		if tail = append(tail, line); len(tail) > tailLines {
			tail = tail[1:]
		}
		what, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		of := strings.Fields(rest)
		switch {
		case what == "===" && len(of) > 1:
			if name = of[1]; said[name] == nil {
				order = append(order, name)
				said[name] = []string{}
			}
		case what == "---" && len(of) > 1:
			name = of[1]
			ended[name] = true
			if of[0] == "FAIL:" {
				failed = append(failed, name)
			}
		default:
			said[name] = append(said[name], line)
		}
	}
	for _, name := range order {
		if !ended[name] {
			failed = append(failed, name)
		}
	}
	var out []string
	out = append(out, "failed: "+strings.Join(failed, " "))
	for _, name := range slices.Compact(failed) {
		if len(said[name]) > 0 {
			out = append(out, name+":")
			out = append(out, said[name]...)
		}
	}
	out = append(out, "the end of the output:")
	return strings.Join(append(out, tail...), "\n")
}
