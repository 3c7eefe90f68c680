package targets_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/timeline"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

var updateSession = flag.Bool("session", false, "write examples/shop/session.txt anew")

const sessionFile = "../../../examples/shop/session.txt"

// TestTwoServices runs the session of docs/two-services.md, each command as it is
// written, and compares what it prints. A command of sdttrace has several tries: on a busy
// machine a second may pass without a request for each item, or one service's sites
// come so much later than the other's that the first request is seen in part.
func TestTwoServices(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "curl")
	tracee.Alone(t, "front")
	dir := t.TempDir()
	text, err := os.ReadFile(sessionFile)
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.Split("\n"+string(text), "\n$ ")[1:]
	build, _, _ := strings.Cut(commands[0], "\n") // in the module
	needs.Run(t, "go", append([]string{"build", "-o", dir}, inModule(strings.Fields(build)[2:])...)...)
	addresses := strings.NewReplacer("127.0.0.1:8080", freeAddress(t), "127.0.0.1:8081", freeAddress(t))
	sh := startShell(t, dir)
	session := "$ " + build + "\n"
	for i, c := range commands[1:] {
		command, want, _ := strings.Cut(c, "\n")
		typed := addresses.Replace(command)
		if i == 2 { // until the services answer
			typed += addresses.Replace("\nuntil curl -s http://127.0.0.1:8080/item/lamp >/dev/null; do sleep 0.01; done")
		}
		got := sh.run(t, typed)
		for range 4 {
			if *updateSession || !strings.HasPrefix(command, "./sdttrace") || len(differences(command, want, got)) == 0 {
				break
			}
			t.Log(got)
			got = sh.run(t, typed)
		}
		session += "$ " + command + "\n" + got
		if !*updateSession {
			for _, d := range differences(command, want, got) {
				t.Error(d)
			}
		}
	}
	checkArrows(t, filepath.Join(dir, "shop.pftrace"))
	if *updateSession {
		if err := os.WriteFile(sessionFile, []byte(session), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shell is sh, which runs one line after the other.
type shell struct {
	lines  io.Writer
	output *bufio.Reader
}

// startShell starts a shell in dir. It and what it leaves running end with the test.
func startShell(t *testing.T, dir string) *shell {
	t.Helper()
	script, lines, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "/proc/self/fd/3")
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = dir, out, out, []*os.File{script}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	script.Close()
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		lines.Close()
		output.Close()
	})
	return &shell{lines: lines, output: bufio.NewReader(output)}
}

// run runs what is typed, and returns what it prints.
func (sh *shell) run(t *testing.T, typed string) (printed string) {
	t.Helper()
	const end = "== this command has ended\n"
	if _, err := io.WriteString(sh.lines, typed+"\necho '"+strings.TrimSuffix(end, "\n")+"'\n"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := sh.output.ReadString('\n')
		if before, ok := strings.CutSuffix(line, end); ok {
			return printed + before
		}
		printed += line
		if err != nil {
			t.Fatalf("%s: %v: %s", typed, err, printed)
		}
	}
}

// checkArrows checks that in a timeline of the services an arrow leads from each lookup's
// request to the lookup, which begins later and ends earlier, in another process.
func checkArrows(t *testing.T, path string) {
	t.Helper()
	trace := timeline.ReadFile(t, path)
	arrows := map[any]int{}
	for _, f := range trace.Flows {
		from, to := f[0], f[1]
		arrows[to.Args["request"]]++
		if from.Name != "front:request" || to.Name != "stock:lookup" || from.Args["request"] != to.Args["request"] || from.PID == to.PID || to.At < from.At || to.Took > from.Took {
			t.Errorf("an arrow leads from %+v to %+v", from, to)
		}
	}
	requests := map[any]bool{}
	for _, s := range trace.Named("front:request") {
		requests[s.Args["request"]] = true
	}
	lookups := 0
	for _, s := range trace.Named("stock:lookup") {
		if request := s.Args["request"]; requests[request] {
			if lookups++; arrows[request] != 1 {
				t.Errorf("%d arrows lead to the lookup of %v", arrows[request], request)
			}
		}
		if s.Args["item"] == "clock" && s.Took < 20*time.Millisecond {
			t.Errorf("the lookup of a %v takes %v", s.Args["item"], s.Took)
		}
	}
	if lookups == 0 { // a busy machine makes few requests in the second that is recorded
		t.Error("no lookup has its request")
	}
}

// inModule returns the directories that a test of this package builds.
func inModule(words []string) (out []string) {
	for _, w := range words {
		out = append(out, filepath.Join("../../..", w))
	}
	return out
}

// freeAddress returns an address at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// differing matches what differs from run to run: numbers with their units, and the
// items that customers ask for; bars are cut. The commands do not always say what was
// recorded and not read because there were enough events, or found no partner.
var (
	differing  = regexp.MustCompile(`\d[\d.]*(ns|µs|ms|s|k|M)?\b|clock|lamp|sofa`)
	leftUnread = regexp.MustCompile(`, \d+ (unread|starts? without an end|ends? without a start)`)
)

// differences returns what makes the outputs of a command differ: they should have the same lines,
// in any number and order, except for what differs from run to run.
func differences(command, want, got string) (out []string) {
	shapes := func(text string) map[string]string {
		out := map[string]string{}
		for line := range strings.Lines(text) {
			shape, _, _ := strings.Cut(leftUnread.ReplaceAllString(line, ""), "|")
			shape = strings.Join(strings.Fields(differing.ReplaceAllString(shape, "N")), " ")
			out[shape] = line
		}
		return out
	}
	wanted, seen := shapes(want), shapes(got)
	for shape, line := range wanted {
		if _, ok := seen[shape]; !ok {
			out = append(out, fmt.Sprintf("%s: the document has %q, of which nothing is like %q", command, line, got))
		}
	}
	for shape, line := range seen {
		if _, ok := wanted[shape]; !ok {
			out = append(out, fmt.Sprintf("%s: prints %q, of which nothing is like %q", command, line, want))
		}
	}
	return out
}
