package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestOtel compares the configurations that are printed for command lines with testdata/otel.txt,
// whose configurations a test of the receiver reads.
func TestOtel(t *testing.T) {
	text, err := os.ReadFile("testdata/otel.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "$ sdttrace otel ")[1:]
	if len(cases) < 8 {
		t.Errorf("only %d cases are found", len(cases))
	}
	for _, c := range cases {
		line, want, _ := strings.Cut(c, "\n")
		var stdout, stderr bytes.Buffer
		args := append([]string{"otel"}, split(line)...)
		if code := run(t.Context(), args, &stdout, &stderr); code != exitDone || stdout.String() != want {
			t.Errorf("%q: exit code %d, got\n%s%swant\n%s", args, code, &stdout, &stderr, want)
		}
	}
}

// TestOtelPaths checks that files are named by paths that hold in any directory.
func TestOtelPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("web", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"count --exe web ./web:a:b": `["` + here + `/web:a:b"]` + "\n        target: {exe: \"" + here + `/web"}`,
		"latency uprobe:./web:main": `{start: "uprobe:` + here + `/web:main", end: "uretprobe:` + here + `/web:main"}`,
		"count a:b libc.so.6:c:d":   `["a:b", "libc.so.6:c:d"]`,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append([]string{"otel"}, split(line)...), &stdout, &stderr); code != exitDone || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: exit code %d, %s%s, want %s", line, code, &stdout, &stderr, want)
		}
	}
}

// split splits a line at blanks that are not within single quotes.
func split(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestOtelRefused checks that nothing is left out in silence.
func TestOtelRefused(t *testing.T) {
	for line, want := range map[string]string{
		"--sample 10 a:b":                               "--sample",
		"--str arg0 a:b":                                "--str",
		"count --by stack a:b":                          "stack",
		"stats ms --show stddev a:b":                    "stddev",
		"hist ms --steps 0,10,1 a:b":                    "--steps",
		"top a:b":                                       "otel is for",
		"profile --span a:b,a:c":                        "--span",
		"profile --diff a.usdt b.usdt":                  "--diff",
		"profile otel_memory:*":                         "memory",
		"--stack a:b":                                   "--stack",
		"a:b -- true":                                   "starts no command",
		"count":                                         "PROBE",
		"count --nothing a:b":                           "nothing",
		"latency a:b a:c --show stddev":                 "stddev",
		"see a:b":                                       "there is no ':'",
		"count --by 'bits(ms)' a:b":                     "bits(ms) is no key",
		"profile --by 'bits(ms)' a:b":                   "bits(ms) is no key",
		"latency a:b a:c --by 'x +'":                    "key",
		"latency a:b a:c --key 'x +'":                   "key",
		"latency a:b c":                                 "there is no ':'",
		"--where 'x >' a:b":                             "want a constant",
		"snapshot 'x >' a:b":                            "EXPR",
		"snapshot 'x > 1' --before 10001 a:b":           "10000 events",
		"count --interval 9ms a:b":                      "--interval",
		"profile --by stack --interval 9ms a:b":         "--interval",
		"--comm '\xff' a:b":                             `"\xff" is not UTF-8`,
		"latency a:b a:c --slower 1s --where 'x == \"'": "not closed",
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"otel"}, split(line)...), &stdout, &stderr)
		if code != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s%s, want %q", line, code, &stdout, &stderr, want)
		}
	}
}
