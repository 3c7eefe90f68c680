package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// rule explains why tests are skipped on the machines.
type rule struct {
	reason *regexp.Regexp // what the test says
	why    string         // what KERNELS.md says
}

var rules = []rule{
	{regexp.MustCompile(`^needs (.*executable file not found|[\w.+-]+$|gcc and sys/sdt.h$)`), "needs a tool that the machine does not have"},
	{regexp.MustCompile(`^needs openjdk-`), "needs a tool that the machine does not have"},
	{regexp.MustCompile(`^(no namespaces here|the shell and sleep are one program)`), "needs more than busybox's unshare and shell"},
	{regexp.MustCompile(`^(needs|without) uprobe_multi: `), "perf events are slow to close, and need CAP_SYS_ADMIN"},
	{regexp.MustCompile(`^no overlays here: `), "the kernel has overlays as a module, which the machine does not have"},
	{regexp.MustCompile(`^this kernel does not optimise nop5$`), "the kernel does not optimise nop5"},
	{regexp.MustCompile(`^this kernel does not tell PIDs of nested namespaces$`), "the kernel's types do not lead to PIDs of nested namespaces"},
	{regexp.MustCompile(`^this kernel has no sessions: `), "the kernel has no uprobe sessions, which Linux 6.13 has"},
	{regexp.MustCompile(`^this kernel has no BPF tokens: `), "the kernel has no BPF tokens, which Linux 6.9 has"},
	{regexp.MustCompile(`^this kernel has no private stacks$`), "the kernel has no private stacks for BPF programs"},
	{regexp.MustCompile(`^this kernel has no vm.memfd_noexec: `), "the kernel has no vm.memfd_noexec"},
	{regexp.MustCompile(`^this kernel has no kernel.warn_limit: `), "the kernel has no kernel.warn_limit"},
	{regexp.MustCompile(`^this kernel reports files that are not opened$`), "the kernel reports O_PATH as opening"},
	{regexp.MustCompile(`^a second run of the suite takes long$`), "the suite runs a second time, unprivileged, on the running kernel only"},
	{regexp.MustCompile(`^needs a processor with AVX2$`), "the processor that is emulated has no AVX2"},
	{regexp.MustCompile(`^the program is for x86-64$`), "the program is for x86-64"},
	{regexp.MustCompile(`^short: `), "would take too long in an emulated machine"},
}

// explain returns the rule that explains a skipped test, nil if none does.
func explain(t test) *rule {
	for i := range rules {
		if rules[i].reason.MatchString(t.reason()) {
			return &rules[i]
		}
	}
	return nil
}

// count returns the number of tests with an action.
func (s suiteResult) count(action string) int {
	n := 0
	for _, t := range s.tests {
		if t.action == action {
			n++
		}
	}
	return n
}

func (s suiteResult) summary() string {
	text := fmt.Sprintf("%d passed, %d failed, %d skipped", s.count("pass"), s.count("fail"), s.count("skip"))
	if s.exit != 0 {
		text += fmt.Sprintf(", exit code %d", s.exit)
	}
	return text
}

// slowest lists up to n tests that took a second or longer, slowest first.
func (s suiteResult) slowest(n int) string {
	tests := slices.Clone(s.tests)
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(b.took, a.took) })
	var text []string
	for _, t := range tests[:min(n, len(tests))] {
		if t.took >= 1 {
			text = append(text, fmt.Sprintf("%s (%.0f s)", t.name, t.took))
		}
	}
	return strings.Join(text, " ")
}

// print writes which tests ran, were skipped and failed, and reports whether the
// run succeeded.
func (r result) print(w io.Writer) bool {
	ok := true
	fmt.Fprintf(w, "== kernel %s: %s %s, %s\n", r.kernel, r.seen.Release, r.seen.Machine, r.seen.Mechanism)
	for _, s := range r.suites {
		fmt.Fprintf(w, "-- %s: %s\n", s.name, s.summary())
		if s.exit != 0 {
			ok = false
			if s.count("fail") == 0 {
				fmt.Fprint(w, s.talk)
			}
		}
		var passed []string
		for _, t := range s.tests {
			switch t.action {
			case "pass":
				passed = append(passed, t.name)
			case "skip":
				fmt.Fprintf(w, "   skipped %s: %s\n", t.name, t.reason())
				if explain(t) == nil {
					ok = false
					fmt.Fprintf(w, "   ^ no rule explains this\n")
				}
			case "fail":
				ok = false
				fmt.Fprintf(w, "   FAILED %s\n%s\n", t.name, t.output)
			case "unsteady":
				fmt.Fprintf(w, "   UNSTEADY %s %s; the first time:\n%s\n", t.name, unsteady, t.output)
			case "bench":
				fmt.Fprintf(w, "   %s\n", measured.FindString(t.output))
			}
		}
		if len(passed) > 0 {
			fmt.Fprintf(w, "   passed %s\n", strings.Join(passed, " "))
		}
		if slow := s.slowest(10); slow != "" {
			fmt.Fprintf(w, "   slowest %s\n", slow)
		}
	}
	if n := len(r.unsteady()); n > report.MaxUnsteady {
		ok = false
		fmt.Fprintf(w, "   %d tests are unsteady, at most %d may be\n", n, report.MaxUnsteady)
	}
	return ok
}
