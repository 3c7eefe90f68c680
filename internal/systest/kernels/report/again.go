package report

import (
	"regexp"
	"strings"
)

// Attempts is how often a test that has failed runs again, by itself. It is unsteady if it
// passes each time.
const Attempts = 3

// MaxUnsteady is how many tests of a machine may be unsteady.
const MaxUnsteady = 3

// Again says that a test runs another time, by itself.
type Again struct {
	Test    string // without subtests: they all run
	Attempt int    // from 1 to Attempts
}

// ended begins the lines in which a binary that runs with -test.v=test2json says how a test ended.
const ended = "\x16--- FAIL: "

// Failed returns the test that failed according to a line of a suite's output, the empty string
// if none did. A subtest's failure is also one of its test, which has a line of its own.
func Failed(line string) string {
	_, text, _ := strings.Cut(line, ended)
	name, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if strings.Contains(name, "/") || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Example") {
		return ""
	}
	return name
}

// Alone returns the arguments of the suite for a test by itself, with the subtests that the suite
// runs of it.
func (s Suite) Alone(test string) []string {
	pattern := ""
	for _, arg := range s.Args {
		if p, ok := strings.CutPrefix(arg, "-test.run="); ok {
			pattern = p // the last one counts
		}
	}
	alone := "^" + test + "$"
	for _, alternative := range split(pattern, '|') {
		elements := split(alternative, '/')
		if matched, err := regexp.MatchString(elements[0], test); err != nil || !matched {
			continue
		}
		elements[0] = "^" + test + "$"
		alone = strings.Join(elements, "/")
		break // the first one chooses, as package testing does
	}
	return append(s.Args[:len(s.Args):len(s.Args)], "-test.run="+alone)
}

// split splits a pattern of tests where a byte is outside brackets, as package testing does.
func split(pattern string, at byte) []string {
	var parts []string
	begin, square, round := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			square++
		case c == ']':
			square = max(0, square-1)
		case c == '(' && square == 0:
			round++
		case c == ')' && square == 0:
			round--
		case c == at && square == 0 && round == 0:
			parts = append(parts, pattern[begin:i])
			begin = i + 1
		}
	}
	return append(parts, pattern[begin:])
}
