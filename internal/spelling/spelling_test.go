package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"help", "top", "list", "latency", "where", "comm", "arg0", "stack"}
	for word, want := range map[string]string{
		"hlep": "help", "wehre": "where", "lst": "list", "lat": "latency", "com": "comm", "argO": "arg0", "stak": "stack", "list": "", "arg7": "", "silenceshop": "", "": "", "xyz": "", "l": "list", "x": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

// TestNearestLetter does not take one letter for another.
func TestNearestLetter(t *testing.T) {
	for word, want := range map[string]string{"i": "", "c": "", "N": "n", "ne": "n"} {
		if got := Nearest(word, []string{"x", "n"}); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "bca", 2}, {"kitten", "sitting", 3}, {"qeury", "query", 1},
	} {
		for _, limit := range []int{3, 9} {
			if got := Edits(test.a, test.b, limit); got != test.want {
				t.Errorf("from %q to %q are %d edits, want %d", test.a, test.b, got, test.want)
			}
		}
		if got := Edits(test.a, test.b, test.want-1); test.want > 0 && got < test.want {
			t.Errorf("from %q to %q are %d edits within %d", test.a, test.b, got, test.want-1)
		}
	}
}
