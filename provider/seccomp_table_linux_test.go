//go:build !usdt_nolocal

package provider_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write the table of system calls anew")

// callsDocument has the table of system calls.
const callsDocument = "../docs/services.md"

// callsOf are the rows of the table, and what becomes of a service without the calls that it can
// do without. sometimes are calls of situations that the test does not make: where another call is
// refused, where a process has left files, for another user.
var callsOf = []struct {
	feature, label string
	without        map[string]string
	sometimes      []string
}{
	{"probes", "all `probes`", map[string]string{"uname": "sites have the slowest instruction", "openat": "sites have the slowest instruction"}, nil},
	{"BackingFile", "`BackingFile`", map[string]string{
		"renameat2": "the other one is called", "linkat": "the other one is called", "unlinkat": "temporary files stay",
	}, []string{"linkat", "unlinkat"}},
	{"EventsDir", "`EventsDir`", map[string]string{"getdents64": "files stay", "unlinkat": "files stay"}, nil},
	{"Local", "`Local`", map[string]string{
		"openat": "the socket has no file, or leaves it", "fchmod": "the socket has no file, or leaves it", "unlinkat": "the socket has no file, or leaves it",
	}, []string{"geteuid"}},
	// clock_gettime where the processor has no counter that can be read: then the clock begins elsewhere.
	{"FlightRecorder", "`FlightRecorder`", map[string]string{"getdents64": "old files stay", "unlinkat": "old files stay"}, []string{"clock_gettime", "unlinkat"}},
	{"sdttrace", "a service that `sdttrace` starts", map[string]string{
		"socket": "it does not wait for the tracer", "connect": "it does not wait for the tracer",
		"setsockopt": "it does not wait for the tracer", "getsockopt": "it does not wait for the tracer",
	}, []string{"geteuid"}},
}

// writeSystemCalls tries each feature without each call, and writes the table.
func writeSystemCalls(t *testing.T) {
	text, err := os.ReadFile(callsDocument)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| for | needed | may be refused |\n|---|---|---|\n")
	var needed, called []string // by all probes
	for _, row := range callsOf {
		must, may := tryCalls(t, row.feature)
		must = slices.DeleteFunc(must, func(call string) bool { return slices.Contains(needed, call) })
		may = slices.DeleteFunc(may, func(call string) bool { return slices.Contains(called, call) && row.without[call] == "" })
		may = slices.Compact(slices.Sorted(slices.Values(slices.Concat(may, row.sometimes))))
		if row.feature == "probes" {
			needed, called = must, slices.Concat(must, may)
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", row.label, quoted(must), cellOf(may, row.without))
	}
	rows := regexp.MustCompile(`(?m)^\| for \| needed \| may be refused \|\n(\|.*\n)+`)
	written := rows.ReplaceAllLiteral(text, []byte(table.String()))
	if !rows.Match(text) {
		t.Fatalf("%s has no table of system calls", callsDocument)
	}
	if !bytes.Equal(written, text) {
		if err := os.WriteFile(callsDocument, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tryCalls returns the system calls without which a feature does not load, and the other calls
// that it makes, in their order by name. Calls that the runtime makes are never among the others.
func tryCalls(t *testing.T, feature string) (must, may []string) {
	for _, call := range slices.Sorted(maps.Keys(numbers)) {
		number := numbers[call]
		without := &confinement{feature: feature, calls: []uint32{number}, refused: unix.EPERM}
		if o := without.run(t); o.loaded != "" || o.events != without.events() {
			must = append(must, call)
			continue
		}
		if slices.Contains(runtimeCalls, number) {
			continue
		}
		others := &confinement{feature: feature}
		for _, n := range slices.Concat(slices.Collect(maps.Values(numbers)), runtimeCalls) {
			if n != number {
				others.calls = append(others.calls, n)
			}
		}
		if o := others.run(t); o.died != "" {
			may = append(may, call)
		}
	}
	return must, may
}

func quoted(calls []string) string {
	var all []string
	for _, c := range calls {
		all = append(all, "`"+c+"`")
	}
	return strings.Join(all, ", ")
}

// cellOf names calls by what becomes of the service without them.
func cellOf(calls []string, without map[string]string) string {
	by := map[string][]string{}
	for _, c := range calls {
		by[without[c]] = append(by[without[c]], c)
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(by)) {
		text := quoted(by[what])
		if what != "" {
			text += ": " + what
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}
