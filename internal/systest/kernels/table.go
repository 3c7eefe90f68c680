package main

import (
	"fmt"
	"maps"
	"os"
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
"make test" runs all tests, and those against other tools; INTEROP.md says which
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
	for i, s := range suites {
		fmt.Fprintf(&b, "| %s |", s.Package)
		for _, r := range results {
			fmt.Fprintf(&b, " %d passed", r.suites[i].count("pass"))
			if n := r.suites[i].count("skip"); n > 0 {
				fmt.Fprintf(&b, ", %d skipped", n)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Skipped\n\n")
	writeSkipped(&b, results)
	return b.String()
}

// writeSkipped writes which tests were skipped: one line for all tests with the
// same reason on the same kernels.
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
	lines := map[string]map[string][]string{} // tests by line and package
	for k, kernels := range on {
		line := k.why
		if len(kernels) < len(results) {
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
			if tests := lines[line][s.Package]; tests != nil {
				slices.Sort(tests)
				text = append(text, s.Package+" "+strings.Join(tests, ", "))
			}
		}
		fmt.Fprintf(b, "- %s: %s\n", line, strings.Join(text, "; "))
	}
}

// volatile matches what may differ from the document: the number of tests, the
// newest build of a kernel, and the newest kernel of all.
var volatile = regexp.MustCompile(`\d+ (passed|skipped)|(\| ` + newest + `-\w+ \|) [^ |]*|(\d+\.\d+)\.\d[^ |]*`)

// current reports whether the document equals text, except for what is volatile.
func current(text string) bool {
	data, err := os.ReadFile(document)
	return err == nil && plain(string(data)) == plain(text)
}

// plain returns a document without what is volatile.
func plain(text string) string { return volatile.ReplaceAllString(text, "$1$2$3") }
