package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// needProcessor returns the processor. It skips a test where tests with traces compare
// nothing, and fails it if the library has changed.
func needProcessor(t *testing.T) []byte {
	t.Helper()
	if !installed() {
		needs.Skip(t, "needs Perfetto's trace_processor: packages chromium-shell and g++")
	}
	program, err := processor()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestQuery checks answers of several rows, and that an error is said.
func TestQuery(t *testing.T) {
	program := needProcessor(t)
	got, err := ask(program, nil, "select 1 union select 2")
	if want := [][]string{{"1"}, {"2"}}; err != nil || !slices.EqualFunc(got[0], want, slices.Equal) {
		t.Errorf("the answer is %q, error %v, want %q", got, err, want)
	}
	if got, err := ask(program, nil, "select missing"); err == nil || !strings.Contains(err.Error(), "no such column: missing") {
		t.Errorf("the answer to no query is %q, error %v", got, err)
	}
}

// TestChanged checks that a library that does not link, ends the program or answers otherwise
// is refused.
func TestChanged(t *testing.T) {
	needs.Tools(t, "gcc", "g++")
	if _, err := compile("-lm"); err == nil || !strings.Contains(err.Error(), "undefined reference") {
		t.Errorf("compiled with another library: error %v", err)
	}
	for script, want := range map[string]string{
		"kill -SEGV $$": "segmentation fault",
		"exit 0":        "select '0123456789012345678901'",
		`printf '1 4\na\0b\0c\0d\0'; for i in 1 2 3 4 5 6 7 8 9 10 11; do printf '1 1\na\0'; done`: "answers to queries",
		`printf '2 4\na\0b\0c\0d\0%s\0%s\0\0[NULL]\0' 0123456789012345678901 01234567890123456789012
		for i in 1 2 3 4 5 6 7 8 9 10 11; do printf '1 1\na\0'; done`: "what a trace shows",
	} {
		if err := check([]byte("#!/bin/sh\n" + script + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", script, err, want)
		}
	}
}

// complaints keeps the errors of a test.
type complaints struct {
	testing.TB
	said []string
}

func (e *complaints) Errorf(format string, args ...any) {
	e.said = append(e.said, fmt.Sprintf(format, args...))
}

// TestCompare checks that a comparison finds what differs, and complaints.
func TestCompare(t *testing.T) {
	needProcessor(t)
	b := slices.Concat(example()...)
	read := func() *Trace {
		trace, err := Read(b)
		if err != nil || len(trace.Slices) != 2 || trace.Slices[1].TID != 11 {
			t.Fatalf("the trace is %+v, error %v", trace, err)
		}
		return trace
	}
	read().Compare(t, b)
	for what, change := range map[string]func(trace *Trace){
		"text at 2000":  func(trace *Trace) { trace.Slices[0].Name = "other" },
		"3000 for 1000": func(trace *Trace) { trace.Slices[1].Took++ },
		"thread 11":     func(trace *Trace) { trace.Slices[1].TID++ },
		"key=value":     func(trace *Trace) { trace.Slices[1].Args["key"] = "value" },
		"called by":     func(trace *Trace) { trace.Slices[1].Stack = []string{"f"} },
		"Flows":         func(trace *Trace) { trace.Flows = [][2]*Slice{{trace.Slices[0], trace.Slices[1]}} },
		"10 load: 1":    func(trace *Trace) { trace.Counters["10 load"] = []float64{1} },
		"11 text":       func(trace *Trace) { trace.Threads = nil },
		"Processes":     func(trace *Trace) { trace.Processes[10] = "comm" },
		"Ahead":         func(trace *Trace) { trace.Ahead++ },
	} {
		trace, found := read(), &complaints{TB: t}
		change(trace)
		trace.Compare(found, b)
		if len(found.said) != 1 {
			t.Errorf("%s: found %q, want one difference", what, found.said)
		}
	}
	// The other packets refer to what the first one has, which is not there.
	found := &complaints{TB: t}
	(&Trace{}).Compare(found, slices.Concat(example()[1:]...))
	if !strings.Contains(strings.Join(found.said, "\n"), "trace_processor complains: ") {
		t.Errorf("no complaint of a trace without a beginning: %q", found.said)
	}
}
