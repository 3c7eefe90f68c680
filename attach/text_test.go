package attach_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func startCounted(t *testing.T, flags ...string) *tracee.Program {
	t.Helper()
	out := filepath.Join(t.TempDir(), "counted")
	msg, err := exec.Command("gcc", append(flags, "-o", out, "testdata/counted.c")...).CombinedOutput()
	if err != nil {
		needs.Skip(t, "needs gcc and sys/sdt.h: %v: %s", err, msg)
	}
	p := start(t, exec.Command(out))
	p.Do("") // it has been mapped
	return p
}

// TestCountedText reads text that has a length and no terminating NUL.
func TestCountedText(t *testing.T) {
	const text = "counted\x00text/without an end"
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			p := startCounted(t, flags)
			// The constant 1 of probe half is no length; probe two has two texts.
			s := openEvents(t, "counted:*", &attach.EventOptions{MaxString: 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"counted:hal?:arg0[arg2]", "counted:[bh]a[rl][ef]:arg0[arg2]", "arg0[arg1]", "counted:two:arg2[arg3]",
				"counted:followed:arg0->8", "counted:followed:arg1->0x8[arg2]", "counted:followed:arg3->8", "counted:followed:arg4->8"}})
			p.Do("")
			got := map[string][]arg{}
			for _, ev := range drain(t, s) {
				got[ev.Name] = argsOf(ev)
			}
			const fault = "memory not readable"
			want := map[string][]arg{
				"byte":     number(text[:4], int64(4)),
				"half":     number(text[:12], int64(1), uint64(12)),
				"negative": number(nil, int64(-1)),
				"two":      number(text[:20], int64(len(text)), text[8:12], int64(4)),
				"nowhere":  number(nil, int64(4)),
				"nothing":  number("", int64(0)),
				"constant": number(text[:9], int64(9)),
				"huge":     number(text[:20], uint64(1<<63)),
				"bare":     number(nil),
				"followed": number("counted", text[:4], int64(4), nil, nil),
			}
			for name, why := range map[string]string{
				"negative": "its length is -1", "nowhere": fault, "two": "truncated to 20 of 27 bytes",
				"huge": "truncated to 20 of 9223372036854775808 bytes", "bare": "no argument arg2 holds its length",
			} {
				want[name][0].Err = why
			}
			want["followed"][3].Err, want["followed"][4].Err = fault, fault
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			checkSum(t, s)
		})
	}
}

// TestCountedTextOfFunction reads text whose length has a type and fills only a
// part of its register.
func TestCountedTextOfFunction(t *testing.T) {
	p := startCounted(t, "-O2")
	s := openEvents(t, "uprobe:counted:part", &attach.EventOptions{MaxString: 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Args: []string{"arg1:uint8"}, Strings: []string{"arg0[arg1]"}})
	p.Do("")
	events := drain(t, s)
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	if d := cmp.Diff(named("arg1", uint64(4), "arg0", "coun"), argsOf(events[0])); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
}

// TestCountedTextInKernel compares and groups by text that has a length.
func TestCountedTextInKernel(t *testing.T) {
	p := startCounted(t, "-O2")
	opts := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"counted:byte:arg0[arg1]", "counted:constant:arg0[arg1]"}, Where: `arg0 == "coun" || arg0 ~ "*\x00t"`}
	followed := open(t, "counted:followed", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"arg1->8"}, Where: `arg1 == "counted"`})
	byFollowed := openAggregate(t, []string{"counted:followed"}, attach.Count().By("arg0"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"arg0->8"}})
	s := open(t, "counted:[bc]*t*", &opts)
	a := openAggregate(t, []string{"counted:byte", "counted:constant"}, attach.Count().By("arg0"), &opts)
	p.Do("")
	var got []string
	for _, ev := range drain(t, s) {
		got = append(got, ev.Name+" "+ev.Args[0].Value.(string))
	}
	if d := cmp.Diff([]string{"byte coun", "constant counted\x00t"}, got); d != "" {
		t.Errorf("filtered (-want +got):\n%s", d)
	}
	if n := len(drain(t, followed)); n != 1 {
		t.Errorf("%d events by text behind a pointer, want 1", n)
	}
	if groups, err := byFollowed.Read(); err != nil || len(groups) != 1 || groups[0].By[0].Value != "counted" {
		t.Errorf("groups %+v, error %v, want one by text behind a pointer", groups, err)
	}
	groups, err := a.Read()
	if err != nil || len(groups) != 2 || groups[0].By[0].Value != "coun" || groups[1].By[0].Value != "counted\x00t" {
		t.Errorf("groups %+v, error %v, want one of each text", groups, err)
	}
}

// TestComparedText checks that events show the text that a condition has
// compared, provided that it has compared nothing else.
func TestComparedText(t *testing.T) {
	p := startCounted(t, "-O2")
	for _, test := range []struct {
		where string
		want  any
	}{
		{`arg0 == "counted" && arg0 != ""`, "counted"},
		{`arg0 == "counted" && comm ~ "c*"`, "counted"},
		{`arg0 == "counted" && arg0 != 5`, nil},
		{`arg0 > 5`, nil},
		{`comm == "counted"`, nil},
	} {
		s := open(t, "counted:bare", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where})
		p.Do("")
		events := drain(t, s)
		if len(events) != 1 {
			t.Errorf("%s: %d events, want 1", test.where, len(events))
			continue
		}
		got := events[0].Args[0].Value
		if _, isNumber := got.(uint64); got != test.want && (test.want != nil || !isNumber) {
			t.Errorf("%s: arg0 is %v, want %v", test.where, got, test.want)
		}
	}
}

func TestValidateStrings(t *testing.T) {
	for _, s := range []string{"", "arg", "0", "arg0x", "arg0[", "arg0[]", "arg0[arg1", "arg0]", "arg0[1]", "arg0[arg1]x", "arg0->", "arg0->x", "arg0->-8", "arg0->8x", "->8", "arg0[arg1]->8", "arg0->0x80000000", ":arg0", "a:arg0", "a::arg0", "[:b:arg0", "uprobe:x:y:arg0"} {
		if err := (&attach.Options{Strings: []string{"arg0", s}}).Validate(); err == nil || !strings.Contains(err.Error(), "string argument \"") {
			t.Errorf("Validate with %q = %v, want an error that names it", s, err)
		}
		if _, err := attach.Open(t.Context(), []string{"a:b"}, &attach.Options{Strings: []string{s}}); err == nil || !strings.Contains(err.Error(), "string argument \"") {
			t.Errorf("Open with %q: %v, want an error that names it", s, err)
		}
	}
	for _, s := range []string{"arg0", "arg0[arg11]", "a:b:arg0", "a*:[bc]:arg0[arg1]", "arg0->8", "a:b:arg0->0x10[arg1]"} {
		if err := (&attach.Options{Strings: []string{s}}).Validate(); err != nil {
			t.Errorf("Validate with %q = %v", s, err)
		}
	}
}
