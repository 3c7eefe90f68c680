package session

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpan(t *testing.T) {
	for _, test := range []struct {
		text       string
		start, end string
		key        []string
	}{
		{"a:s,a:e", "a:s", "a:e", nil},
		{"a:s,a:e:id", "a:s", "a:e", []string{"id"}},
		{"a:s,a:e:machine,id", "a:s", "a:e", []string{"machine", "id"}},
		{"/x/y:a:s,/x/y:a:e", "/x/y:a:s", "/x/y:a:e", nil},
		{"y:a:s,y:a:e", "y:a:s", "y:a:e", nil},
		{"y:a:s,y:a:e:id", "y:a:s", "y:a:e", []string{"id"}},
		{"/x/y:a:s,/x/y:a:e:id", "/x/y:a:s", "/x/y:a:e", []string{"id"}},
		{"uprobe:./x:f,uretprobe:./x:f", "uprobe:./x:f", "uretprobe:./x:f", nil},
		{"uprobe:./x:f(int, char),uretprobe:./x:f(int, char):arg0", "uprobe:./x:f(int, char)", "uretprobe:./x:f(int, char)", []string{"arg0"}},
		{"uprobe:./x:n::f,uretprobe:./x:n::f", "uprobe:./x:n::f", "uretprobe:./x:n::f", nil},
	} {
		s, err := ParseSpan(test.text)
		if err != nil || s.Start != test.start || s.End != test.end || !slices.Equal(s.Key, test.key) {
			t.Errorf("%s: got %q, %q by %q, error %v", test.text, s.Start, s.End, s.Key, err)
		}
	}
	for _, text := range []string{"", "a:s", "a:s,", ",a:e", "a:s,a:e,b:x", "a:s,a:e:", "a:s,a:e:id,", "nocolon,a:e"} {
		if s, err := ParseSpan(text); err == nil {
			t.Errorf("%q is taken for %+v", text, s)
		}
	}
}

func TestSplitProbes(t *testing.T) {
	for in, want := range map[string][]string{
		"a:b,c:d":   {"a:b", "c:d"},
		"a:b":       {"a:b"},
		"a:{b,c},d": {"a:{b,c}", "d"},
		"a:b,c:d,e": {"a:b", "c:d", "e"},
		"uprobe:./s:f(int, char),uretprobe:./s:g<A, B>(int)": {"uprobe:./s:f(int, char)", "uretprobe:./s:g<A, B>(int)"},
		"uprobe:./s:operator->,a:b":                          {"uprobe:./s:operator->", "a:b"},
	} {
		if d := cmp.Diff(want, SplitProbes(in)); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}
