package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// errorTexts are what is shown of the errors that testdata/typed/errors.go makes, in their order.
var errorTexts = []string{
	`=nil`,
	`=*errors.errorString .text="no rows"`,
	`=*errors.errorString .text="plain 3"`,
	`=*fmt.wrapError .text="query: no rows" .cause=*errors.errorString .cause.text="no rows"`,
	`=*fmt.wrapErrors .text="two: no rows and no rows"`,
	`=*errors.joinError .text=?(not known of this type)`,
	`=*fs.PathError .text="open" .more="/no/such/file" .cause=syscall.Errno .cause.errno=ENOENT`,
	`=syscall.Errno .errno=ENOENT`,
	`=*net.OpError .text="dial" .more="tcp" .cause=*os.SyscallError .cause.text="connect" .cause.cause=syscall.Errno .cause.cause.errno=ECONNREFUSED`,
	`=*strconv.NumError .text="Atoi" .more="abc" .cause=*errors.errorString .cause.text="invalid syntax"`,
	`=context.deadlineExceededError .text=?(not known of this type)`,
	`=*main.mine .text="my own"`,
	`=main.plain .text="a structure" .more="here"`,
	`=main.word .text="a word"`,
	`=*main.bare .text=?(not known of this type)`,
}

// errorProgram builds testdata/typed/errors.go.
func errorProgram(t *testing.T, flags ...string) string {
	t.Helper()
	needs.Root(t)
	needs.Tools(t, "go")
	path := filepath.Join(t.TempDir(), "errs")
	build := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "typed/errors.go")...)
	build.Dir = "testdata"
	if msg, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, msg)
	}
	return path
}

// shownBy runs sdttrace and returns the lines that it prints.
func shownBy(t *testing.T, sdttrace string, args ...string) []string {
	t.Helper()
	lines := linesOf(t, sdttrace, args...)
	return lines[:len(lines)-1]
}

// TestTextsOfErrors checks what is shown of errors by their types: as arguments, as results and
// behind a pointer. The programs are loaded at the addresses of their files, or elsewhere.
func TestTextsOfErrors(t *testing.T) {
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	for _, flags := range [][]string{nil, {"-buildmode=pie"}, {"-gcflags=-N"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			path := errorProgram(t, flags...)
			for _, test := range []struct{ selector, args, name string }{
				{"uprobe:" + path + ":main.handle", "err", "err"},
				{"uretprobe:" + path + ":main.handle", "retval.1", "retval.1"},
				{"uprobe:" + path + ":main.handle", "j.err", "j.err"},
			} {
				names := []string{test.args}
				for _, part := range []string{"text", "more", "errno", "cause", "cause.text", "cause.errno", "cause.cause", "cause.cause.errno"} {
					names = append(names, test.args+"."+part)
				}
				var want []string
				for _, text := range errorTexts {
					want = append(want, test.name+strings.ReplaceAll(text, " .", " "+test.name+"."))
				}
				got := shownBy(t, sdttrace, "-q", "--fields", "args", "--args", strings.Join(names, ","), test.selector, "--", path)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s of %s (-want +got):\n%s", test.args, test.selector, d)
				}
			}
			// A function shows its errors also where nobody names them.
			shown := shownBy(t, sdttrace, "-q", "--fields", "args", "uretprobe:"+path+":main.handle", "--", path)
			if len(shown) != len(errorTexts) || !strings.HasSuffix(shown[1], ` retval.1=*errors.errorString retval.1.text="no rows"`) {
				t.Errorf("results are %q", shown)
			}
		})
	}
}

// TestWhatErrorsHold checks that conditions, groups, JSON and recordings know the texts of errors.
func TestWhatErrorsHold(t *testing.T) {
	path := errorProgram(t)
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	probe := "uprobe:" + path + ":main.handle"
	run := func(args ...string) []string { return shownBy(t, sdttrace, append(args, "--", path)...) }
	for where, want := range map[string]string{
		`err.text ~ "*no rows"`:                             "3",
		`err.cause.errno == "ENOENT"`:                       "1",
		`err.text == "open" && err.more != "/no/such/file"`: "0",
		`err == "*main.mine" && err.text == "my own"`:       "1",
		`err.text == ""`:                                    "5",
	} {
		got := run("count", "-q", "--json", "--where", where, probe)
		var group struct{ Count json.Number }
		if json.Unmarshal([]byte(strings.Join(got, "")), &group); group.Count.String() != want && (want != "0" || len(got) > 0) {
			t.Errorf("%s: %s, want %s", where, got, want)
		}
	}
	rows := strings.Join(run("count", "-q", "--by", "err,err.text", probe), "\n")
	for _, row := range []string{`1  *errors.errorString            "no rows"`, `1  *errors.errorString            "plain 3"`, `1  *fs.PathError                  "open"`} {
		if !strings.Contains(rows, row) {
			t.Errorf("groups lack %s:\n%s", row, rows)
		}
	}
	var event struct{ Args map[string]any }
	if err := json.Unmarshal([]byte(run("-q", "--json", "--where", "n == 6", probe)[0]), &event); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"err": "*fs.PathError", "err.text": "open", "err.more": "/no/such/file", "err.cause": "syscall.Errno", "err.cause.errno": 2.}
	for name, value := range want {
		if event.Args[name] != value {
			t.Errorf("JSON has %s %v, want %v", name, event.Args[name], value)
		}
	}
	file := filepath.Join(t.TempDir(), "errors.trace")
	run("record", "-q", "-o", file, probe)
	kept := shownBy(t, sdttrace, "count", "-q", "--from", file, "--by", "err.text", "--where", `err.text ~ "*rows*"`)
	if text := strings.Join(kept, "\n"); !strings.Contains(text, `1  "two: no rows and no rows"`) || len(kept) != 5 {
		t.Errorf("the recording has\n%s", text)
	}
}

// TestCastsOfInterfaces checks that a value in an interface is taken for a type only if it has that type:
// in events, conditions, groups and sums.
func TestCastsOfInterfaces(t *testing.T) {
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	for _, flags := range [][]string{nil, {"-buildmode=pie"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			path := errorProgram(t, flags...)
			probe := "uprobe:" + path + ":main.handle"
			run := func(args ...string) []string { return shownBy(t, sdttrace, append(args, "--", path)...) }
			shown := run("-q", "--fields", "args", "--args", "err:fs.PathError*,PathError.Op,PathError.Err,err:main.plain*,plain.code", probe)
			for i, want := range map[int]string{
				0:  "err=nil PathError.Op=?(err holds nil) PathError.Err=?(err holds nil) plain.code=?(err holds nil)",
				6:  `err=*fs.PathError PathError.Op="open" PathError.Err=syscall.Errno plain.code=?(err holds *fs.PathError)`,
				12: "err=main.plain PathError.Op=?(err holds main.plain) PathError.Err=?(err holds main.plain) plain.code=1",
			} {
				if i >= len(shown) || !strings.HasSuffix(shown[i], want) {
					t.Fatalf("shown are %q, want %s in line %d", shown, want, i)
				}
			}
			rows := strings.Join(run("count", "-q", "--args", "err:fs.PathError*", "--by", "PathError.Op", probe), "\n")
			if !strings.Contains(rows, "14  ?(its interface holds another type)") || !strings.Contains(rows, ` 1  "open"`) {
				t.Errorf("groups are\n%s", rows)
			}
			for _, args := range [][]string{{"count", "--where", "plain.code == 1"}, {"stats", "plain.code", "--show", "count,sum"}} {
				out := run(append(args, "-q", "--json", "--args", "err:main.plain*", probe)...)
				if len(out) != 1 || !strings.Contains(out[0], `"count":1`) {
					t.Errorf("%s: %q, want one event", args, out)
				}
			}
		})
	}
}
