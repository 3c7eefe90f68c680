package attach_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["rune"] = tracee.Obey(runeChild()) }

func runeChild() func(string) error {
	p := provider.New("rune", nil)
	text := provider.NewProbe2[string, []byte](p, "text", "s", "b")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		for _, s := range runeTexts {
			text.Fire(s, []byte(s))
		}
		return nil
	}
}

// runeTexts are cut to 5 bytes.
var runeTexts = []string{"abcde", "abcd\u00e9", "abc\u20acd", "ab\U0001f600", "abc\U0001f600", "abcd\xff\xff", "ab\xc3cde", "\x80\x80\x80\x80\x80\x80", strings.Repeat("x", 119) + "\u20ac"}

// TestTruncatedRune checks that text ends before a character that does not fit,
// and is reported as truncated only.
func TestTruncatedRune(t *testing.T) {
	p := startChild(t, "rune")
	p.Do("load")
	s := openEvents(t, "rune:text", &attach.EventOptions{MaxString: 5}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	a := openAggregate(t, []string{"rune:text"}, attach.Count().By("s"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("fire")
	const replaced = "invalid UTF-8 replaced by U+FFFD"
	want := []string{
		`"args":{"s":"abcde","b":"YWJjZGU="}}`,
		`"args":{"s":"abcd","b":"YWJjZMM="},"errors":{"s":"truncated to 4 of 6 bytes","b":"truncated to 5 of 6 bytes"}}`,
		`"args":{"s":"abc","b":"YWJj4oI="},"errors":{"s":"truncated to 3 of 7 bytes","b":"truncated to 5 of 7 bytes"}}`,
		`"args":{"s":"ab","b":"YWLwn5g="},"errors":{"s":"truncated to 2 of 6 bytes","b":"truncated to 5 of 6 bytes"}}`,
		`"args":{"s":"abc","b":"YWJj8J8="},"errors":{"s":"truncated to 3 of 7 bytes","b":"truncated to 5 of 7 bytes"}}`,
		`"args":{"s":"abcd\ufffd","b":"YWJjZP8="},"errors":{"s":"truncated to 5 of 6 bytes; ` + replaced + `","b":"truncated to 5 of 6 bytes"}}`,
		`"args":{"s":"ab\ufffdcd","b":"YWLDY2Q="},"errors":{"s":"truncated to 5 of 6 bytes; ` + replaced + `","b":"truncated to 5 of 6 bytes"}}`,
		`"args":{"s":"\ufffd\ufffd\ufffd\ufffd\ufffd","b":"gICAgIA="},"errors":{"s":"truncated to 5 of 6 bytes; ` + replaced + `","b":"truncated to 5 of 6 bytes"}}`,
		`"args":{"s":"xxxxx","b":"eHh4eHg="},"errors":{"s":"truncated to 5 of 122 bytes","b":"truncated to 5 of 122 bytes"}}`,
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := v.Event()
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(ev)
		if err != nil || !strings.HasSuffix(string(data), want[n]) {
			t.Errorf("%q: error %v, got %s\nwant %s", runeTexts[n], err, data, want[n])
		}
		// The view is asked before and after its event.
		for i := range v.Len() {
			if got := v.Arg(i); !cmp.Equal(kept(got), ev.Args[i].Value) || errText(got.Err) != errText(ev.Args[i].Err) {
				t.Errorf("%q: the view has %q (%v), want %q (%v)", runeTexts[n], got.Bytes(), got.Err, ev.Args[i].Value, ev.Args[i].Err)
			}
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d events, want %d", n, len(want))
	}
	// A key keeps 120 bytes.
	got := strings.Join(groupsOf(t, a), "\n")
	if want := `{"by":{"s":"` + strings.Repeat("x", 119) + `"},"count":1,"errors":{"s":"truncated to 119 bytes"}}`; !strings.Contains(got, want) {
		t.Errorf("groups %s\nwant among them %s", got, want)
	}
}
