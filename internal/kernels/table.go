package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// document is the file that says what was seen.
const document = "KERNELS.md"

// table returns its text.
func table(results []result) string {
	var b strings.Builder
	b.WriteString(`# Kernels

<!-- Written by "make test-kernels UPDATE=-update"; "make test-kernels" compares. -->

These tests run on Debian's kernels under qemu, as root, in an initramfs that
holds busybox and little else; compilers run on the host.

| kernel | machine | attach by | site | vm.memfd_noexec |
|---|---|---|---|---|
`)
	for _, r := range results {
		noexec := "no"
		if r.seen.Noexec {
			noexec = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.seen.Release, r.seen.Machine, r.seen.Mechanism, r.seen.Site, noexec)
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
	for _, r := range results {
		for _, s := range r.suites {
			byWhy := map[string][]string{}
			for _, t := range s.tests {
				if rule := explain(t); t.action == "skip" && rule != nil {
					byWhy[rule.why] = append(byWhy[rule.why], t.name)
				}
			}
			var whys []string
			for why := range byWhy {
				whys = append(whys, why)
			}
			slices.Sort(whys)
			for _, why := range whys {
				fmt.Fprintf(&b, "- %s, %s: %d tests: %s\n", r.kernel, s.name, len(byWhy[why]), why)
			}
		}
	}
	return b.String()
}

// volatile is what may differ from the document: how many tests there are, and
// which build of a kernel is the newest.
var volatile = regexp.MustCompile(`\d+ (passed|skipped|tests)|(\d+\.\d+)\.\d[^ |]*`)

// current reports whether the document says what text does.
func current(text string) bool {
	data, err := os.ReadFile(document)
	return err == nil && plain(string(data)) == plain(text)
}

// plain returns a document without what is volatile.
func plain(text string) string { return volatile.ReplaceAllString(text, "$1$2") }
