package targets_test

import (
	"bytes"
	"flag"
	"fmt"
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
// written, and compares what it prints.
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
	var want []string
	script := ""
	for i, c := range commands {
		command, output, _ := strings.Cut(c, "\n")
		want = append(want, output)
		commands[i] = command
		if i == 0 { // in the module
			words := strings.Fields(command)
			needs.Run(t, "go", append([]string{"build", "-o", dir}, inModule(words[2:])...)...)
			continue
		}
		script += fmt.Sprintf("echo '== %d'\n%s\n", i, command)
		if i == 3 { // until the services answer
			script += "until curl -s http://127.0.0.1:8080/item/lamp >/dev/null; do :; done\n"
		}
	}
	for _, port := range []string{"8080", "8081"} {
		script = strings.ReplaceAll(script, "127.0.0.1:"+port, freeAddress(t))
	}
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Processes that the shell leaves running hold the output.
	cmd.Cancel = nil
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := -cmd.Process.Pid
	state, err := cmd.Process.Wait()
	syscall.Kill(group, syscall.SIGKILL)
	cmd.Wait() // the output's end; the process has been waited for
	if err != nil || !state.Success() {
		t.Fatalf("%v %v: %s", err, state, &out)
	}
	parts := regexp.MustCompile(`(?m)^== \d+\n`).Split(out.String(), -1)[1:]
	if len(parts) != len(want)-1 {
		t.Fatalf("%d outputs of %d commands: %s", len(parts), len(want)-1, &out)
	}
	checkArrows(t, filepath.Join(dir, "shop.pftrace"))
	if *updateSession {
		session := "$ " + commands[0] + "\n"
		for i, part := range parts {
			session += "$ " + commands[i+1] + "\n" + part
		}
		if err := os.WriteFile(sessionFile, []byte(session), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, part := range parts {
		compareShapes(t, commands[i+1], want[i+1], part)
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
	leftUnread = regexp.MustCompile(`, \d+ (unread|starts without an end|ends without a start)`)
)

// compareShapes checks that two outputs have the same lines, in any number and order,
// except for what differs.
func compareShapes(t *testing.T, command, want, got string) {
	t.Helper()
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
			t.Errorf("%s: the document has %q, of which nothing is like %q", command, line, got)
		}
	}
	for shape, line := range seen {
		if _, ok := wanted[shape]; !ok {
			t.Errorf("%s: prints %q, of which nothing is like %q", command, line, want)
		}
	}
}
