package targets_test

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// redis is a server that listens on a socket of the test's directory only, with a client.
type redis struct {
	pid  int
	conn net.Conn
	in   *bufio.Reader
}

// startRedis starts a server, and connects to it when it listens.
func startRedis(t *testing.T) *redis {
	t.Helper()
	needs.Root(t)
	needs.Tools(t, "redis-check-rdb")
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	// It is also the server if it is called that: Debian's redis-tools has it without a service.
	cmd := exec.Command("redis-check-rdb", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
	cmd.Args[0] = "redis-server"
	var log tracee.Output
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	log.Await(t, "server is now ready to accept connections at")
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &redis{cmd.Process.Pid, conn, bufio.NewReader(conn)}
}

// do sends a command, and returns the answer.
func (r *redis) do(t *testing.T, words ...string) string {
	t.Helper()
	r.conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := fmt.Fprintf(r.conn, "%s\r\n", strings.Join(words, " ")); err != nil {
		t.Fatal(err)
	}
	line, err := r.in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	size, bulk := strings.CutPrefix(line, "$")
	if !bulk {
		return strings.TrimSpace(line)
	}
	n, err := strconv.Atoi(strings.TrimSpace(size))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for len(text) < n+2 {
		line, err := r.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text += line
	}
	return text
}

// TestRedisAllocations compares from where a server allocates, whose code has no frame pointers
// and whose malloc is jemalloc's, with the commands that it counts itself: as events, as groups,
// and as a profile that pprof opens.
func TestRedisAllocations(t *testing.T) {
	r := startRedis(t)
	const malloc, keys = "uprobe:libjemalloc.so.2:malloc", 200
	dir := t.TempDir()
	sdttrace, file := needs.Build(t, "cmd/sdttrace"), filepath.Join(dir, "allocations.pb.gz")
	a := byStack(t, malloc, r.pid)
	o := unwound(r.pid)
	s := open(t, []string{malloc}, o)
	cmd := exec.Command(sdttrace, "profile", "-p", strconv.Itoa(r.pid), "--stack=dwarf", "--buffer", "64M", "-o", file, malloc)
	var stderr tracee.Output
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.Await(t, "attached to")
	for i := range keys {
		if got := r.do(t, "SET", fmt.Sprint("key", i), "value"); got != "+OK" {
			t.Fatalf("SET: %s", got)
		}
	}
	events := drain(t, s)
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	// The server says the same itself.
	if stats := r.do(t, "INFO", "commandstats"); !strings.Contains(stats, fmt.Sprintf("cmdstat_set:calls=%d,", keys)) {
		t.Fatalf("the server has not counted %d SETs:\n%s", keys, stats)
	}
	if size := r.do(t, "DBSIZE"); size != fmt.Sprint(":", keys) {
		t.Fatalf("the server has %s keys, want %d", size, keys)
	}

	// Each SET of a new key allocates its name and an entry of the table, both in dbAdd.
	sets := map[string]int{}
	for _, ev := range events {
		names := functionsOf(ev.Stack)
		if names[0] != "malloc" || names[len(names)-1] != "_start" && names[len(names)-1] != "__clone3" && !strings.HasPrefix(names[len(names)-1], "clone") {
			t.Fatalf("an allocation is from %q, want malloc, and the beginning of a thread", names)
		}
		if at := slices.Index(names, "setCommand"); at > 0 && slices.Contains(names[:at], "dbAdd") {
			sets[strings.Join(names[:at], " ")]++
		}
	}
	if len(sets) < 2 {
		t.Errorf("allocations of new keys are from %v, want two places or more", sets)
	}
	below := 0
	for names, n := range sets {
		if below += n; n != keys {
			t.Errorf("%d allocations of new keys are from %s, want %d", n, names, keys)
		}
	}

	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	inGroups := 0
	for _, g := range groups {
		stack, ok := g.By[0].Value.(*event.Stack)
		if !ok {
			t.Fatalf("a group of %d events has no stack: %v", g.Count, g.By[0].Err)
		}
		names := functionsOf(stack)
		if at := slices.Index(names, "setCommand"); at > 0 && slices.Contains(names[:at], "dbAdd") {
			inGroups += int(g.Count)
		}
	}
	if inGroups != below {
		t.Errorf("groups have %d allocations of new keys, events %d", inGroups, below)
	}

	out := needs.Run(t, "go", "tool", "pprof", "-top", "-cum", "-nodefraction=0", "-focus=setCommand", file)
	line := regexp.MustCompile(`(?m)^ +0 +0% +[\d.]+% +(\d+) +[\d.]+% +dbAdd$`).FindStringSubmatch(out)
	if line == nil || line[1] != strconv.Itoa(below) {
		t.Errorf("pprof says %q of dbAdd, want %d:\n%s", line, below, out)
	}
}
