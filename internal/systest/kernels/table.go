package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// document is the file that has the results.
const document = "KERNELS.md"

// table returns the document's text.
func table(results []result) string {
	var b strings.Builder
	b.WriteString(`# Kernels

<!-- Written by "make test-kernels UPDATE=-update"; "make test-kernels" compares. -->

These tests run on Debian's kernels under qemu, as root, in an initramfs that
holds busybox and little else; compilers run on the host. On the running kernel
"make test" and "make test-rest" run all tests, and those against other tools; INTEROP.md says which
that was.

| | kernel | machine | attach by | site | vm.memfd_noexec |
|---|---|---|---|---|---|
`)
	for _, r := range results {
		noexec := "no"
		if r.seen.Noexec {
			noexec = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.kernel, r.seen.Release, r.seen.Machine, r.seen.Mechanism, r.seen.Site, noexec)
	}
	b.WriteString("\n## Tests\n\n| package |")
	for _, r := range results {
		fmt.Fprintf(&b, " %s |", r.kernel)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for _, s := range suites {
		if s.Yama != "" {
			continue
		}
		fmt.Fprintf(&b, "| %s |", s.Package)
		for _, r := range results {
			if ran := r.suite(s.Name()); ran != nil {
				fmt.Fprintf(&b, " %d passed", ran.count("pass"))
				if n := ran.count("skip"); n > 0 {
					fmt.Fprintf(&b, ", %d skipped", n)
				}
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	writeParts(&b, results)
	writeYama(&b, results)
	b.WriteString("\n## Skipped\n\n")
	writeSkipped(&b, results)
	return b.String()
}

// writeParts writes which kernels run a part of some suites.
func writeParts(b *strings.Builder, results []result) {
	var partly, few []string
	for _, r := range results {
		part := r.kernel.part["attach"]
		switch {
		case r.kernel.few:
			few = append(few, r.kernel.String())
		case part == little["attach"] || part == least["attach"]:
			partly = append(partly, r.kernel.String())
		}
	}
	fmt.Fprintf(b, `
The machines do not run attach's tests of shared memory and of recordings: internal/ring,
internal/rendezvous and provider test the kernel's part in these. %s
run only the other tests that depend on the processor, or on how the kernel attaches and
reads memory; 6.1-arm64 leaves those of control groups, pairs and latencies to 6.1-amd64, which has the
same kernel, and newest-amd64 those of how a tracer manages many processes, files and groups. A few
long tests of other packages run on 6.1-amd64 alone, or there and on newest-amd64. How frames of C are named and files are searched depends on the processor: "make test"
and 6.1-arm64 test it. The machines run cmd/sdttrace's tests of commands that are held until they
are traced, and of README's recipes for functions of the kernel.
`, strings.Join(partly, " and "))
	if len(few) > 0 {
		fmt.Fprintf(b, "%s runs the tests of functions of the kernel and of tracepoints, and no others.\n", strings.Join(few, " and "))
	}
}

// writeYama writes what became of the tests at each level of Yama.
func writeYama(b *strings.Builder, results []result) {
	b.WriteString(`
## Yama

As an ordinary user, without a capability, attach traces a process of the same user
through shared memory:

| kernel.yama.ptrace_scope |`)
	results = slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.kernel.few })
	for _, r := range results {
		fmt.Fprintf(b, " %s |", r.kernel)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for _, s := range suites {
		if s.Yama == "" {
			continue
		}
		fmt.Fprintf(b, "| %s |", s.Yama)
		for _, r := range results {
			fmt.Fprintf(b, " %s |", r.suite(s.Name()).outcome())
		}
		b.WriteString("\n")
	}
}

// outcome returns how the only test of a suite has ended.
func (s *suiteResult) outcome() string {
	if s == nil || len(s.tests) != 1 || s.exit != 0 {
		return "failed"
	}
	return map[string]string{"pass": "passed", "unsteady": "passed", "skip": "skipped"}[s.tests[0].action]
}

// writeSkipped writes which tests were skipped: one line for all tests with the
// same reason on the same kernels. It names these, except if they are all that do not run a few tests only.
func writeSkipped(b *strings.Builder, results []result) {
	type skip struct{ why, pkg, test string }
	on := map[skip][]string{}
	for _, r := range results {
		for _, s := range r.suites {
			for _, t := range s.tests {
				if rule := explain(t); t.action == "skip" && rule != nil {
					k := skip{rule.why, s.name, t.name}
					on[k] = append(on[k], r.kernel.String())
				}
			}
		}
	}
	var all []string
	for _, r := range results {
		if !r.kernel.few {
			all = append(all, r.kernel.String())
		}
	}
	lines := map[string]map[string][]string{} // tests by line and package
	for k, kernels := range on {
		line := k.why
		if !slices.Equal(kernels, all) {
			line += " (" + strings.Join(kernels, ", ") + ")"
		}
		if lines[line] == nil {
			lines[line] = map[string][]string{}
		}
		lines[line][k.pkg] = append(lines[line][k.pkg], "`"+k.test+"`")
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		var text []string
		for _, s := range suites {
			if tests := lines[line][s.Name()]; tests != nil {
				slices.Sort(tests)
				text = append(text, s.Name()+" "+strings.Join(tests, ", "))
			}
		}
		fmt.Fprintf(b, "- %s: %s\n", line, strings.Join(text, "; "))
	}
}

// volatile matches what may differ from the document: the number of tests, the
// newest build of a kernel, and the newest kernel of all.
var volatile = regexp.MustCompile(`\d+ (passed|skipped)|(\| ` + newest + `-\w+ \|) [^ |]*|(\d+\.\d+)\.\d[^ |]*`)

// plain returns a document without what is volatile.
func plain(text string) string { return volatile.ReplaceAllString(text, "$1$2$3") }
