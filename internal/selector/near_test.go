package selector

import "testing"

func TestNear(t *testing.T) {
	for _, test := range []struct {
		selector, provider, name string
		want                     string // "" for not near
		distance                 int
	}{
		{"postgresql:query-start", "postgresql", "query__start", "postgresql:query__start", 0},
		{"postgresql:query_start", "postgresql", "query__start", "postgresql:query__start", 0},
		{"/bin/postgres:PostgreSQL:queryStart_", "postgresql", "query__start", "postgresql:query__start", 0},
		{"postgresql:query__start", "postgresql", "query__start", "postgresql:query__start", 0},
		{"postgresql:query__star", "postgresql", "query__start", "postgresql:query__start", 1},
		{"postgresql:query__start2", "postgresql", "query__start", "postgresql:query__start", 1},
		{"postgresql:qeury__start", "postgresql", "query__start", "postgresql:query__start", 1},
		{"postgres:query_start", "postgresql", "query__start", "postgresql:query__start", 2},
		{"postgres:query__*", "postgresql", "query__start", "postgresql:query__*", 2},
		{"postgres:querx__*", "postgresql", "query__start", "", 0},
		{"mysql:query__start", "postgresql", "query__start", "postgresql:query__start", 64},
		{"a:go", "b", "go", "", 0},
		{"postgresql:query_*", "postgresql", "query__start", "postgresql:query_*", 0},
		{"*:query_strat", "postgresql", "query__start", "postgresql:query__start", 1},
		{"postgresql:commit", "postgresql", "query__start", "", 0},
		{"uprobe:/x:query_start", "postgresql", "query__start", "", 0},
	} {
		s, err := Parse(test.selector)
		if err != nil {
			t.Fatal(err)
		}
		got, distance, ok := s.Near(test.provider, test.name)
		if got != test.want || ok != (test.want != "") || distance != test.distance {
			t.Errorf("%s is near %s:%s: got %q at %d, want %q at %d", test.selector, test.provider, test.name, got, distance, test.want, test.distance)
		}
	}
}

func TestNearName(t *testing.T) {
	s, err := Parse("uprobe:libc.so.6:mallok")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"malloc": 1, "mallopt": 2, "mallinfo": -1, "free": -1, "MALLOK_": 0, "main.mallok": 0, "pool::mallok(int)": 0, "main.premallok": -1} {
		if got, ok := s.NearName(name); ok != (want >= 0) || ok && got != want {
			t.Errorf("mallok is %d from %s (%t), want %d", got, name, ok, want)
		}
	}
}
