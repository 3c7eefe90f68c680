package screen_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestTop uses every key of sdttrace top.
func TestTop(t *testing.T) {
	needs.Root(t)
	sdttrace := build(t)
	first := start(t, "fire", "screenone")
	s := newTerminal(t)
	s.begin(sdttrace + " top 'screen*:*'")
	s.await("screenone:often", "screenone:seldom", "2 probes at 2 sites")
	row := regexp.MustCompile(`(?m)^ +[\d.]+k? +[\d.]+k? +1  .{16}  screenone:(often|seldom)$`)
	shown := s.awaitThat("both probes with their counts, the faster one first", func(shown string) bool {
		rows := row.FindAllStringSubmatch(shown, -1)
		return len(rows) == 2 && rows[0][1] == "often"
	})
	if !strings.Contains(shown, "vRATE/s") {
		t.Errorf("the table is not sorted by rate:\n%s", shown)
	}
	checkCountsOnly(t, s.running())

	second := start(t, "fire", "screentwo") // a new process appears
	s.await("screentwo:often", "screentwo:seldom", "4 probes at 4 sites")

	s.press("n", "n")
	s.awaitThat("names backwards", func(shown string) bool {
		return strings.Contains(shown, "^PROBE") && inOrder(shown, "screentwo:seldom", "screentwo:often", "screenone:seldom", "screenone:often")
	})
	s.press("n")
	s.awaitThat("names", func(shown string) bool { return inOrder(shown, "vPROBE", "screenone:often", "screentwo:seldom") })
	s.press("t")
	s.await("vTOTAL")
	s.press("o")
	s.await("vPROCS")

	s.press("/")
	s.press("-l", "two SELD")
	s.awaitThat("one probe", func(shown string) bool {
		return strings.Contains(shown, "screentwo:seldom") && !strings.Contains(shown, "screenone:") && !strings.Contains(shown, "two:often")
	})
	s.press("Enter", "p")
	s.await("PID COMM", fmt.Sprintf(" %d ", second.PID()), "screentwo:seldom")

	s.press("Enter") // the events of one process
	event := regexp.MustCompile(fmt.Sprintf(`(?m)^\d\d:\d\d:\d\d\.\d{6} .+/%d screentwo:seldom number=\d+ took=\d`, second.PID()))
	s.awaitThat("events", func(shown string) bool { return len(event.FindAllString(shown, -1)) >= 3 })
	if shown := s.text(); strings.Contains(shown, "recorded") {
		t.Errorf("ten events a second are not all shown:\n%s", shown)
	}
	s.press("h")
	s.await("Histogram of which argument", "1  number", "2  took")
	s.press("Down", "Enter")
	s.awaitThat("a histogram of durations", func(shown string) bool {
		return strings.Contains(shown, "took of screentwo:seldom") && regexp.MustCompile(`ms *\d+ \|#+`).MatchString(shown)
	})
	s.press("s") // where it is fired from
	const caller = "screen_test.fire"
	s.await("screentwo:seldom in process", "stacks by frame pointers", "events in 1 stack", "100.0 %", caller, "main.main")
	s.press("s")
	s.await("stacks by call frames", caller, "main.main")
	s.press("Enter")
	s.awaitThat("events", func(shown string) bool { return event.MatchString(shown) })
	s.press("Escape")
	s.await("RATE/s")

	s.press("Escape") // all probes
	s.await("screenone:often")
	s.press("p")
	s.await("PROCS")
	s.press("r")
	s.press("Home", "Down", "Up", "Enter")
	s.awaitThat("hostile text, escaped", func(shown string) bool {
		return strings.Contains(shown, `:often number=`) && strings.Contains(shown, `text="it is\x1b[2Jtext"`)
	})
	s.press("Escape")
	s.await("RATE/s")
	s.press("Space")
	s.await("paused")
	s.press("Space", "i")
	s.awaitThat("the table", func(shown string) bool { return !strings.Contains(shown, "paused") })

	s.tmux("resize-window", "-t", "test", "-x", "60", "-y", "6")
	s.awaitThat("six lines: three of the head, a row and two of the keys", func(shown string) bool {
		lines := strings.Split(strings.TrimRight(shown, "\n"), "\n")
		return len(lines) == 6 && strings.HasPrefix(lines[0], "sdttrace top") && strings.HasPrefix(lines[4], "/ filter") && strings.HasSuffix(lines[5], "q quit")
	})
	s.tmux("resize-window", "-t", "test", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
	s.await("screentwo:often")

	s.press("q")
	shown = s.ended(0)
	if !regexp.MustCompile(`sdttrace: \d+ events?, 0 lost, 0 filtered; attached 4 of 4 sites`).MatchString(shown) {
		t.Errorf("no summary:\n%s", shown)
	}
	checkClean(t, first)
	checkClean(t, second)
}

// inOrder reports whether text contains words, one behind the other.
func inOrder(text string, words ...string) bool {
	for _, w := range words {
		at := strings.Index(text, w)
		if at < 0 {
			return false
		}
		text = text[at+len(w):]
	}
	return true
}

// ringbuf is BPF_MAP_TYPE_RINGBUF (include/uapi/linux/bpf.h).
const ringbuf = "\nmap_type:\t27\n"

// checkCountsOnly checks that a process has BPF maps, and none for events.
func checkCountsOnly(t *testing.T, pid int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	maps := 0
	for _, file := range files {
		info, err := os.ReadFile(file)
		if err != nil {
			continue // closed meanwhile
		}
		if bytes.Contains(info, []byte("\nmap_type:")) {
			maps++
		}
		if bytes.Contains(info, []byte(ringbuf)) {
			t.Errorf("process %d has a ring buffer: %s", pid, info)
		}
	}
	if maps == 0 {
		t.Errorf("process %d has no BPF map", pid)
	}
}

// TestTopEnds ends sdttrace top in every way but by q, in every mode.
func TestTopEnds(t *testing.T) {
	needs.Root(t)
	sdttrace := build(t)
	p := start(t, "fire", "screenend")
	s := newTerminal(t)
	command := fmt.Sprintf("%s top -p %d", sdttrace, p.PID())
	for _, c := range []struct {
		mode string
		end  func()
	}{
		{"table", func() { s.press("C-c") }},
		{"filter", func() { s.press("C-c") }},
		{"events", func() { s.press("C-c") }},
		{"table", func() { syscall.Kill(s.running(), syscall.SIGTERM) }},
		{"events", func() { syscall.Kill(s.running(), syscall.SIGINT) }},
		{"histogram", func() { syscall.Kill(s.running(), syscall.SIGHUP) }},
		{"duration", func() {}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			more := ""
			if c.mode == "duration" {
				more = " --duration 100ms"
			}
			s.press("clear", "Enter")
			s.begin(command + more)
			if c.mode != "duration" {
				s.await("screenend:often")
			}
			switch c.mode {
			case "filter":
				s.press("/", "o", "f")
				s.await("show only /of")
			case "events":
				s.press("Enter")
				s.await("number=")
			case "histogram":
				s.press("h")
				s.await("number of screenend:often", "|#") // its only number
			}
			c.end()
			if shown := s.ended(0); !strings.Contains(shown, "attached 2 of 2 sites") {
				t.Errorf("no summary:\n%s", shown)
			}
			checkClean(t, p)
		})
	}
}

// maxDetach is how long sdttrace top may take to detach from thousands of probes and
// end: it takes about 0.2 s without other work.
const maxDetach = time.Minute

// TestTopMany leaves thousands of probes.
func TestTopMany(t *testing.T) {
	needs.Root(t)
	sdttrace := build(t)
	p := start(t, "many", "screenmany")
	s := newTerminal(t)
	s.begin(fmt.Sprintf("%s top -p %d", sdttrace, p.PID()))
	s.await(fmt.Sprintf("%d probes at %[1]d sites", manyProbes))
	s.press("End")
	s.await(fmt.Sprintf("screenmany:probe_%d", 999)) // the last by name
	begin := time.Now()
	s.press("q")
	s.ended(0)
	took := time.Since(begin)
	t.Logf("detached from %d probes and ended in %v", manyProbes, took)
	if took > maxDetach {
		t.Errorf("sdttrace top took %v to detach from %d probes, want at most %v", took, manyProbes, maxDetach)
	}
	checkClean(t, p)
}

// TestTopCommand counts the probes of a command, whose output does not disturb the
// screen.
func TestTopCommand(t *testing.T) {
	needs.Root(t)
	sdttrace := build(t)
	s := newTerminal(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The role ends with its input, which never ends.
	s.begin(fmt.Sprintf("mkfifo %s/in; USDT_TEST_ROLE=fire %s top -- sh -c 'echo noise; exec %s screencommand <>%[1]s/in'", s.dir, sdttrace, exe))
	s.await("screencommand:often")
	s.press("Enter")
	shown := s.await("screencommand:often number=") // it fires once it is ready
	if strings.Contains(shown, "noise") || strings.Contains(shown, "ready") {
		t.Errorf("the command writes on the screen:\n%s", shown)
	}
	s.press("q")
	if shown := s.ended(0); !strings.Contains(shown, "\nnoise\nready\n") {
		t.Errorf("the command's output is not shown at the end:\n%s", shown)
	}

	// A command that ignores the signal is killed, and does not keep the screen.
	s.press("clear", "Enter")
	s.begin(fmt.Sprintf("%s top -- sh -c 'trap \"\" HUP TERM; echo deaf; read forever <>%s/in'", sdttrace, s.dir))
	s.await("no probe yet")
	syscall.Kill(s.running(), syscall.SIGHUP)
	s.ended(1) // since it has no probe
}

// TestTopUser counts, and shows events and a histogram, through shared memory.
func TestTopUser(t *testing.T) {
	sdttrace := build(t)
	cmd := tracee.Self("fire", "screenuser")
	cmd.Env = append(cmd.Env, "USDT_LOCAL=1")
	p := tracee.Start(t, cmd).Ready()
	s := newTerminal(t)
	s.begin(fmt.Sprintf("%s top --user -p %d", sdttrace, p.PID()))
	s.await("screenuser:often", "screenuser:seldom", "2 probes at 2 sites")
	s.press("/")
	s.press("-l", "seldom")
	s.press("Enter", "Enter")
	s.await("screenuser:seldom number=")
	s.press("h")
	s.await("2  took")
	s.press("2")
	s.await("took of screenuser:seldom", "|#")
	s.press("s")
	s.await("stacks by frame pointers", "events in 1 stack", "screen_test.fire")
	if shown := s.text(); strings.Contains(shown, "call frames") {
		t.Errorf("there is no other way to find stacks through shared memory:\n%s", shown)
	}
	s.press("q")
	s.ended(0)
	checkClean(t, p)
}

// TestTopWithoutTerminal checks that top prints what it counts if there is no
// terminal.
func TestTopWithoutTerminal(t *testing.T) {
	needs.Root(t)
	sdttrace := build(t)
	p := start(t, "fire", "screenplain")
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, `(?m)^ *\d+.*  "screenplain:often"\n(.*\n)*.*  "screenplain:seldom"`},
		{[]string{"--json"}, `(?m)^\{"time":"[^"]+","by":\{"probe":"screenplain:often"\},"count":\d+`},
	} {
		var out []byte
		var err error
		for _, lasting := range []string{"1s", "10s"} { // while others have the CPU, little fires
			out, err = exec.Command(sdttrace, append([]string{"top", "--interval", "200ms", "--duration", lasting, "-p", fmt.Sprint(p.PID())}, c.flags...)...).Output()
			if err != nil || regexp.MustCompile(c.want).Match(out) {
				break
			}
		}
		if err != nil || !regexp.MustCompile(c.want).Match(out) {
			t.Errorf("%q: %v, got %s, want %s", c.flags, err, out, c.want)
		}
	}
	checkClean(t, p)
}

// TestTopCgroup counts processes of one control group only, on a terminal and
// without.
func TestTopCgroup(t *testing.T) {
	needs.Root(t)
	for _, version := range []int{1, 2} {
		if _, err := os.Stat(memoryGroups + "/cgroup.procs"); err != nil && version == 1 {
			continue // most machines have no version 1 any more
		}
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) { testTopCgroup(t, version) })
	}
}

func testTopCgroup(t *testing.T, version int) {
	sdttrace := build(t)
	inside, outside := start(t, "fire", "screengroup"), start(t, "fire", "screengroup")
	group := makeCgroup(t, version, inside.PID())
	var stderr bytes.Buffer
	cmd := exec.Command(sdttrace, "top", "--cgroup", group, "--duration", "1s", "screengroup:often")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("  %d\n", inside.PID())) || strings.Contains(string(out), fmt.Sprintf("  %d\n", outside.PID())) {
		t.Errorf("%v: got %s %s, want events of process %d and none of %d", err, out, &stderr, inside.PID(), outside.PID())
	}

	s := newTerminal(t)
	s.begin(fmt.Sprintf("%s top --cgroup %s 'screengroup:*'", sdttrace, group))
	s.press("p")
	shown := s.await("screengroup:often", fmt.Sprintf(" %d ", inside.PID()))
	if strings.Contains(shown, fmt.Sprintf(" %d ", outside.PID())) {
		t.Errorf("process %d of another group is shown:\n%s", outside.PID(), shown)
	}
	s.press("Enter")
	s.await(fmt.Sprintf("/%d screengroup:often number=", inside.PID()))
	s.press("q")
	shown = s.ended(0)
	if n := regexp.MustCompile(`sdttrace: (\d+) events?`).FindStringSubmatch(shown); len(n) != 2 || n[1] == "0" {
		t.Errorf("no summary:\n%s", shown)
	}

	out, err = exec.Command(sdttrace, "top", "--cgroup", "no/such.group").CombinedOutput()
	if want := "there is no control group no/such.group"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("got %v %s, want %s", err, out, want)
	}
}

// memoryGroups is where a hierarchy of version 1 is mounted, if one is.
const memoryGroups = "/sys/fs/cgroup/memory"

// makeCgroup makes a control group of a version with a process in it.
func makeCgroup(t *testing.T, version, pid int) string {
	t.Helper()
	last := errors.New("no hierarchy of this version is mounted")
	for _, mount := range map[int][]string{1: {memoryGroups}, 2: {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}}[version] {
		if _, err := os.Stat(mount + "/cgroup.procs"); err != nil {
			last = err
			continue
		}
		group := filepath.Join(mount, fmt.Sprintf("usdt-screen-%d", os.Getpid()))
		if last = os.Mkdir(group, 0o755); last != nil {
			continue
		}
		procs := filepath.Join(mount, "cgroup.procs")
		t.Cleanup(func() {
			os.WriteFile(procs, fmt.Append(nil, pid), 0)
			if err := os.Remove(group); err != nil {
				t.Errorf("remove the control group: %v", err)
			}
		})
		if last = os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, pid), 0); last == nil {
			return group
		}
	}
	needs.Skip(t, "no control groups here: %v", last)
	return ""
}
