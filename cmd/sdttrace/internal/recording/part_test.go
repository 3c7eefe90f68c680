package recording

import (
	"os"
	"testing"
	"time"
)

// TestParse parses names of recordings and of their parts.
func TestParse(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a@b", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]Named{
		"day.usdt":         {File: "day.usdt"},
		"a@b":              {File: "a@b"},
		"day.usdt@0s,10s":  {"day.usdt", Part{0, 10 * time.Second}},
		"day.usdt@1m,1h":   {"day.usdt", Part{time.Minute, time.Hour}},
		"day.usdt@10s,10s": {},
		"day.usdt@-1s,1s":  {},
		"day.usdt@10s":     {},
		"day.usdt@":        {},
	} {
		if got, err := Parse(arg); got != want || (err != nil) != (want == Named{}) {
			t.Errorf("%s: got %+v, %v, want %+v", arg, got, err, want)
		}
	}
	if p := (Part{time.Second, time.Minute}); p.Has(0) || !p.Has(time.Second) || p.Has(time.Minute) || !(Part{}).Has(time.Hour) {
		t.Errorf("%+v has its end, or lacks its beginning", p)
	}
}
