package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// skipLine matches a line of the document's list: the reason, the kernels if not all, and
// the tests of each package.
var skipLine = regexp.MustCompile(`^- .*?(?: \(((?:[\w.]+-\w+(?:, )?)+)\))?: (.*)$`)

// skipsIn returns the tests that a document lists as skipped: a kernel, a package and a name
// each.
func skipsIn(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(text) {
		m := skipLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		on := strings.Split(m[1], ", ")
		if m[1] == "" {
			on = nil
			for _, k := range kernels {
				if !k.few {
					on = append(on, k.String())
				}
			}
		}
		for group := range strings.SplitSeq(m[2], "; ") {
			pkg, tests, _ := strings.Cut(group, " ")
			for test := range strings.SplitSeq(tests, ", ") {
				for _, k := range on {
					all[k+" "+pkg+" "+strings.Trim(test, "`")] = true
				}
			}
		}
	}
	return all
}

// compare compares the document with the text that a run would write. It is an error if a
// test was skipped of which the document does not say so: something is tested no longer.
// Other differences, such as a test that ran after all, are no fault of what was tested; ok
// says that there are none.
func compare(text string) (ok bool, err error) {
	data, err := os.ReadFile(document)
	if err != nil {
		return false, err
	}
	said := skipsIn(string(data))
	var unsaid []string
	for skip := range skipsIn(text) {
		if !said[skip] {
			unsaid = append(unsaid, skip)
		}
	}
	if len(unsaid) > 0 {
		slices.Sort(unsaid)
		return false, fmt.Errorf("%s does not say that these are skipped: %s: make test-kernels UPDATE=-update", document, strings.Join(unsaid, ", "))
	}
	return plain(string(data)) == plain(text), nil
}
