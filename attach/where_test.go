package attach_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["where"] = tracee.Obey(whereChild()) }

// whereTexts are the texts that the child "where" fires, one after the other.
var whereTexts = []string{
	"/api/users", "/api/", "/ap", "", "banana", strings.Repeat("x", 512), strings.Repeat("x", 600) + "end", "a*b", "\xff\x00z",
}

// whereChild fires numbers that identify its events.
func whereChild() func(string) error {
	p := provider.New("where", nil)
	num := provider.NewProbe6[int32, uint64, float64, float32, bool, uint16](p, "num", "i", "u", "f", "g", "b", "n")
	text := provider.NewProbe3[string, []byte, uint16](p, "text", "s", "bytes", "n")
	type hidden struct {
		PID   int32
		Path  string
		Ratio float64
		Deep  struct{ Code int8 }
	}
	rec := provider.NewStructProbe[hidden](p, "rec")
	return func(command string) error {
		switch command {
		case "load":
			return p.Load()
		case "num":
			var zero float64
			for n, f := range []float64{-1.5, 0, -zero, 0.1, 1e9, zero / zero} {
				num.Fire(int32(n-2), uint64(n)<<62, f, float32(f), n%2 == 1, uint16(n))
			}
		case "text":
			for n, s := range whereTexts {
				text.Fire(s, []byte(s), uint16(n))
			}
		case "rec":
			rec.Fire(&hidden{PID: -5, Path: "/x", Ratio: 0.5})
			rec.Fire(&hidden{PID: 6, Path: "/y", Ratio: 2})
		default:
			return fmt.Errorf("unknown command %q", command)
		}
		return nil
	}
}

// whereTest is a condition, and the events for which it holds.
type whereTest struct {
	probe, where string
	want         []int
}

// whereTests are for the probes of the child "where", whose process is pid.
func whereTests(pid int) []whereTest {
	return []whereTest{
		{"num", "i == -2", []int{0}},
		{"num", "i != -2", []int{1, 2, 3, 4, 5}},
		{"num", "i < 0", []int{0, 1}},
		{"num", "i <= 0 && i > -2", []int{1, 2}},
		{"num", "arg0 >= 3", []int{5}},
		{"num", "u >= 0x8000000000000000", []int{2, 3}},
		{"num", "u > -1", []int{0, 1, 2, 3, 4, 5}},
		{"num", "u < -1 || i == 1", []int{3}},
		{"num", "b", []int{1, 3, 5}},
		{"num", "!b && n != 0", []int{2, 4}},
		{"num", "b == false", []int{0, 2, 4}},
		{"num", "f < 0", []int{0}},
		{"num", "f == 0", []int{1, 2}},
		{"num", "f >= -0.0", []int{1, 2, 3, 4}},
		{"num", "f != 0", []int{0, 3, 4}},
		{"num", "!(f == 0)", []int{0, 3, 4, 5}},
		{"num", "g == 0.1", []int{3}},
		{"num", "g > -2", []int{0, 1, 2, 3, 4}},
		{"num", "1e8 < g", []int{4}},
		{"num", fmt.Sprintf("pid == %d && tid > 0", pid), []int{0, 1, 2, 3, 4, 5}},
		{"num", fmt.Sprintf("pid != %d", pid), nil},
		{"num", `comm == "exe"`, []int{0, 1, 2, 3, 4, 5}},
		{"num", `comm ~ "e*e" && n == 1`, []int{1}},
		{"num", `comm ~ "x*"`, nil},
		{"text", `s == "/api/"`, []int{1}},
		{"text", `s != "/api/"`, []int{0, 2, 3, 4, 5, 6, 7, 8}},
		{"text", `s == ""`, []int{3}},
		{"text", `s ~ "/api/*"`, []int{0, 1}},
		{"text", `s ~ "*users" || n == 3`, []int{0, 3}},
		{"text", `s ~ "*an*"`, []int{4}},
		{"text", `s ~ "b*n*n*a"`, []int{4}},
		{"text", `s ~ "b*n*n*n*a"`, nil},
		{"text", `s ~ "ban*nana"`, nil},
		{"text", `s ~ "/*i*s"`, []int{0}},
		{"text", `s ~ "x*"`, []int{5, 6}},
		{"text", `s ~ "*x"`, []int{5}},
		{"text", `s ~ "*xx*"`, []int{5, 6}},
		{"text", `s ~ "*end"`, nil}, // beyond the bytes that are compared
		{"text", `s ~ "a\*b"`, []int{7}},
		{"text", `s ~ "*" && n > 6`, []int{7, 8}},
		{"text", `bytes == "\xff\x00z"`, []int{8}},
		{"text", `bytes ~ "*\x00*"`, []int{8}},
		{"text", `s == "` + strings.Repeat("x", 512) + `"`, []int{5}},
		{"rec", `Ratio > 1`, []int{1}},
		{"rec", `Path == "/x"`, []int{0}},
		{"rec", `PID < 0 && Ratio < 1`, []int{0}},
	}
}

// whereNumber returns the number of an event among those of its probe.
func whereNumber(ev *event.Event) int {
	if ev.Name == "rec" {
		return map[any]int{int64(-5): 0, int64(6): 1}[ev.Args[0].Value]
	}
	return int(ev.Args[len(ev.Args)-1].Value.(uint64))
}

func TestWhere(t *testing.T) { sharedToo(t, checkWhere) }

func checkWhere(t *testing.T) {
	p := startChild(t, "where")
	p.Do("load")
	for _, test := range whereTests(p.PID()) {
		if wayOf(t) == shared && strings.Contains(test.where, "tid") {
			continue // TestLocalThreads
		}
		t.Run(test.probe+":"+fmt.Sprintf("%.40s", test.where), func(t *testing.T) {
			s := open(t, "where:"+test.probe, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where})
			p.Do("%s", test.probe)
			var got []int
			for _, ev := range drain(t, s) {
				got = append(got, whereNumber(&ev))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("where %s (-want +got):\n%s", test.where, d)
			}
			fired := map[string]int{"num": 6, "text": len(whereTexts), "rec": 2}[test.probe]
			if st := checkSum(t, s); st.Fired != uint64(fired) || st.Filtered != uint64(fired-len(test.want)) {
				t.Errorf("stats %+v, want %d fired, %d filtered", st, fired, fired-len(test.want))
			}
			s.Close()
		})
	}
}

// whereTestC is a condition on events of the C program, and the number of events
// for which it holds.
type whereTestC struct {
	probe, where string
	want         int
}

func whereTestsC(pid int) []whereTestC {
	return []whereTestC{
		{"ints", "arg0 == -8 && arg1 == 200 && arg2 < 0 && arg3 == 60000 && arg4 == -320000", 1},
		{"ints", "arg5 == 4000000000 && arg6 <= -64000000000 && arg7 == 0xfedcba9876543210", 1},
		{"ints", "arg7 < 5", 0},
		{"consts", "arg0 == -9 && arg2 == 9223372036854775807 && arg3 == 0xff", 1},
		{"memory", "arg0 == -20 && arg2 > 29", 1},
		{"global", "arg0 == -77 && arg1 == -2 && arg2 == 4242", 1},
		{"text", `arg0 == "h\xc3\xa9llo"`, 1},
		{"text", `arg0 ~ "*llo" && arg2 == 1`, 1},
		{"text", `arg0 > 4096`, 1}, // the address
		{"text", `arg1 == "x" || arg1 != "x"`, 0},
		{"text", `!(arg1 == "x")`, 1},
		{"floats", `arg0 == 2.5 && arg1 < -0.2 && arg1 > -0.3`, 1},
		{"bare", fmt.Sprintf(`pid == %d && comm == "args"`, pid), 1},
	}
}

// TestWhereC checks conditions on untyped arguments of every form.
func TestWhereC(t *testing.T) {
	for _, flags := range [][]string{{"gcc", "-O0"}, {"gcc", "-O2"}, {"clang", "-O2"}} {
		path := compile(t, flags...)
		p := start(t, exec.Command(path))
		for _, test := range whereTestsC(p.PID()) {
			s := open(t, path+":args:"+test.probe, &attach.Options{Where: test.where})
			p.Do("")
			if got := len(drain(t, s)); got != test.want {
				t.Errorf("%v: %d events of %s where %s, want %d", flags, got, test.probe, test.where, test.want)
			}
			checkSum(t, s)
			s.Close()
		}
	}
}

func TestWhereErrors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for where, want := range map[string]string{
		"arg0 == ":      `condition "arg0 == ", column 9: want a constant after ==`,
		"size == 1":     `condition "size == 1", column 1: args:memory has no argument size: it has arg0, arg1, arg2, pid, tid, comm, cpu, uid, cgroup, container, pod`,
		"arg0 == 1.5":   "column 9: arg0 is an integer, and is compared with a floating-point number",
		"arg3 == 1":     "column 1: args:memory has no argument arg3",
		`arg0 == "x"`:   "column 9: arg0 is an integer, and is compared with a string",
		"pid == 'x'":    "column 8: pid is an unsigned integer",
		"comm > 'x'":    "column 6: strings are compared by ==, != and ~ only",
		"comm == 'x' )": "column 13: \")\" follows a complete condition",
	} {
		_, err := attach.Open(t.Context(), []string{path + ":args:memory"}, &attach.Options{Where: where})
		var at *attach.WhereError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("where %s: error %v, want %s", where, err, want)
		}
	}
}
