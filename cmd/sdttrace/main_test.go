package main

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/provider"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == command.Guard {
		main() // as a command that a test has started
	}
	testscript.Main(leftover.Tests{M: m}, map[string]func(){
		"sdttrace":     main,
		"traced":       traced,
		"hasty":        hasty,
		"paired":       paired,
		"answering":    answering,
		"dispositions": dispositions,
		"ignoring":     ignoring,
		"capless":      capless,
	})
}

// traced declares hello:tick and, of another provider, hello_pair:begin and
// hello_pair:end, and fires them, some hundred times a second. It writes its
// process id to the file that its first argument names, or says that it is ready
// on its standard output if that is "-". A second argument is the number of times
// that it fires while it is watched before it ends: a fixed lifetime would be too
// short for slow machines and too long for others. PROVIDER in the environment
// replaces the name hello, for scripts that trace the whole machine, or would be
// disturbed by those.
func traced() {
	name := cmp.Or(os.Getenv("PROVIDER"), "hello")
	p := provider.New(name, nil)
	tick := provider.NewProbe3[uint64, string, float64](p, "tick", "seq", "msg", "load")
	pair := provider.New(name+"_pair", nil)
	begin := provider.NewProbe2[uint64, string](pair, "begin", "seq", "msg")
	end := provider.NewProbe2[int32, uint64](pair, "end", "n", "seq")
	if err := errors.Join(p.Load(), pair.Load()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Args[1] == "-" {
		fmt.Println("ready")
	} else {
		// The file appears under its name with its contents.
		tmp := os.Args[1] + ".tmp"
		if err := errors.Join(os.WriteFile(tmp, []byte(strconv.Itoa(os.Getpid())), 0o600), os.Rename(tmp, os.Args[1])); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	left := -1
	if len(os.Args) > 2 {
		left, _ = strconv.Atoi(os.Args[2])
	}
	for seq := uint64(1 << 60); left != 0; seq++ {
		if tick.Enabled() || begin.Enabled() && end.Enabled() {
			left--
		}
		tick.Fire(seq, "tick \"tock\"", 0.5)
		begin.Fire(seq, "message")
		end.Fire(int32(seq%2), seq)
		time.Sleep(3 * time.Millisecond)
	}
}

// hasty declares hasty:call, fires it at once as often as its argument says, and
// ends.
func hasty() {
	p := provider.New("hasty", nil)
	call := provider.NewProbe1[int](p, "call", "n")
	if err := p.Load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	n, _ := strconv.Atoi(os.Args[1])
	for i := range n {
		call.Fire(i)
	}
}

// goCache returns the directory of the go command's cache, none if the command is not installed.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out))
})

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			exe, err := os.Executable()
			env.Setenv("EXE", exe)
			// The go command finds what it has compiled, and leaves nothing in testscript's home, /no-home.
			env.Setenv("GOCACHE", goCache())
			env.Setenv("HOME", env.Getenv("TMPDIR"))
			return err
		},
		Condition: func(cond string) (bool, error) {
			var ok bool
			switch cond {
			case "privileged":
				_, err := attach.Open(t.Context(), []string{"/proc/self/exe:no:probe"}, nil)
				var p *attach.PrivilegeError
				ok = !errors.As(err, &p) && os.Geteuid() == 0
			case "gcc", "musl-gcc":
				_, err := exec.LookPath(cond)
				ok = err == nil
			default:
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			if !ok && os.Getenv("CI") == "true" {
				return false, fmt.Errorf("in CI the condition %q must hold", cond)
			}
			return ok, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":   awaitMatch,
			"readpid": readPID,
			"events":  checkEvents,
			"unpack":  unpack,
			"until":   until,
			"damage":  damage,
		},
	})
}

// readPID is "readpid FILE VAR": it waits for the file and puts its contents
// into the environment.
func readPID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[1], awaitFile(ts, args[0], "."))
}

// until is "until REGEXP sdttrace ARGS": it traces for a time, and for a longer one if what
// is printed, or said on stderr, does not match, since others may have the CPU meanwhile.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP sdttrace ARGS")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for _, lasting := range []string{"300ms", "3s", "30s"} {
		ts.Check(ts.Exec(args[1], append([]string{"--duration", lasting}, args[2:]...)...))
		if re.MatchString(ts.ReadFile("stdout")) || re.MatchString(ts.ReadFile("stderr")) {
			return
		}
	}
	ts.Fatalf("no match for %s in 30 s: %s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

// damage is "damage FILE COPY": it copies a file of sdttrace record and changes a byte of the last
// records.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	const header = 16 // of the file, and of each chunk: its tag, its length and checksums
	last := 0
	for at := header; at+header <= len(data); at += header + int(binary.LittleEndian.Uint32(data[at+4:])) {
		if string(data[at:at+4]) == "data" {
			last = at
		}
	}
	if last == 0 || last+header+8 >= len(data) {
		ts.Fatalf("%s has no records", args[0])
	}
	data[last+header+8] ^= 0xff
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// awaitMatch is "await FILE REGEXP": it waits until the file matches.
func awaitMatch(ts *testscript.TestScript, _ bool, args []string) {
	awaitFile(ts, args[0], args[1])
}

// awaitFile returns the contents of a file as soon as they match.
func awaitFile(ts *testscript.TestScript, name, pattern string) string {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	path := ts.MkAbs(name)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(path)
		if re.Match(data) {
			return string(data)
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s has no match for %s: %q, %v", name, pattern, data, err)
		}
	}
}

// checkEvents is "events FILE PID N": FILE holds exactly N events of hello:tick
// as JSON, with successive numbers.
func checkEvents(ts *testscript.TestScript, _ bool, args []string) {
	type event struct {
		Time           time.Time
		PID, TID       int
		Comm           string
		Provider, Name string
		Args           struct {
			Seq  uint64
			Msg  string
			Load float64
		}
		Errors map[string]string
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.DisallowUnknownFields()
	n, last := 0, uint64(0)
	for ; ; n++ {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			ts.Fatalf("event %d: %v", n, err)
		}
		if strconv.Itoa(e.PID) != args[1] || e.Provider != "hello" || e.Name != "tick" || e.Comm != "traced" || e.TID == 0 ||
			e.Args.Msg != `tick "tock"` || e.Args.Load != 0.5 || e.Args.Seq <= 1<<60 || len(e.Errors) != 0 {
			ts.Fatalf("event %d is %+v", n, e)
		}
		if n > 0 && e.Args.Seq != last+1 {
			ts.Fatalf("event %d has number %d after %d", n, e.Args.Seq, last)
		}
		if age := time.Since(e.Time); age < 0 || age > time.Minute {
			ts.Fatalf("event %d fired at %v, %v ago", n, e.Time, age)
		}
		last = e.Args.Seq
	}
	if want := args[2]; strconv.Itoa(n) != want {
		ts.Fatalf("got %d events, want %s", n, want)
	}
}
