package selector

import "testing"

func TestResembles(t *testing.T) {
	for _, test := range []struct {
		selector, provider, name string
		want                     bool
	}{
		{"postgresql:query-start", "postgresql", "query__start", true},
		{"postgresql:query_start", "postgresql", "query__start", true},
		{"/bin/postgres:PostgreSQL:queryStart_", "postgresql", "query__start", true},
		{"postgresql:query__start", "postgresql", "query__start", true},
		{"postgresql:query__star", "postgresql", "query__start", false},
		{"postgresql:query__start2", "postgresql", "query__start", false},
		{"postgres:query_start", "postgresql", "query__start", false},
		{"postgresql:query_*", "postgresql", "query__start", false},
		{"*:query_start", "postgresql", "query__start", false},
		{"uprobe:/x:query_start", "postgresql", "query__start", false},
	} {
		s, err := Parse(test.selector)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Resembles(test.provider, test.name); got != test.want {
			t.Errorf("%s resembles %s:%s: %t, want %t", test.selector, test.provider, test.name, got, test.want)
		}
	}
}
