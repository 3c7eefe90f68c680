package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitProbes(t *testing.T) {
	for in, want := range map[string][]string{
		"a:b,c:d":   {"a:b", "c:d"},
		"a:b":       {"a:b"},
		"a:b,c:d,e": {"a:b", "c:d", "e"},
		"uprobe:./s:f(int, char),uretprobe:./s:g<A, B>(int)": {"uprobe:./s:f(int, char)", "uretprobe:./s:g<A, B>(int)"},
		"uprobe:./s:operator->,a:b":                          {"uprobe:./s:operator->", "a:b"},
	} {
		if d := cmp.Diff(want, splitProbes(in)); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}
