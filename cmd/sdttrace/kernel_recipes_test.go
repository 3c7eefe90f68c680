package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// recipe returns the command of README that contains a text, which traces functions of the kernel.
func recipe(t *testing.T, text string) (command string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(sdttrace [^`]+)`").FindAllStringSubmatch(string(readme), -1) {
		if strings.Contains(m[1], text) {
			return m[1]
		}
	}
	t.Fatalf("README has no command with %s", text)
	return ""
}

// follow has a shell run a command, which is interrupted behind work, and returns what it prints. Work begins
// when the command traces.
func follow(t *testing.T, command string, work func()) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec "+command)
	cmd.Env = append(os.Environ(), "PATH="+commands(t, "sdttrace")+":"+os.Getenv("PATH"))
	var out tracee.Output
	cmd.Stdout = &out
	p := tracee.StartVictim(t, cmd)
	p.Stderr().Await(t, "attached to")
	work()
	p.Signal(os.Interrupt)
	if err := p.End(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out.String())
	}
	t.Logf("%s:\n%.4000s%s", command, out.String(), p.Stderr())
	return out.String(), p.Stderr().String()
}

// TestKernelRecipes runs README's recipes for functions of the kernel as they are written, and compares what they print
// with what programs have done.
func TestKernelRecipes(t *testing.T) {
	needs.Kprobes(t)
	t.Run("count by function", testCountTCP)
	t.Run("slow reads", testSlowReads)
	t.Run("from a query to its write", testQueryToDisk)
}

// testCountTCP counts what a program does with connections, of which the machine has no others. A kernel without links
// for many functions says what all of them would cost.
func testCountTCP(t *testing.T) {
	command := recipe(t, "kprobe:tcp_*")
	if features.HaveBPFLinkKprobeMulti() != nil {
		var stdout, stderr strings.Builder
		args := shellWords(strings.TrimPrefix(command, "sdttrace "))
		if code := executed(t, &stdout, &stderr)(args...); code == 0 || !strings.Contains(stderr.String(), "perf events, instead of kprobe_multi links, are attached one after the other") {
			t.Errorf("%s: exit code %d, prints %s%s, want it refused", command, code, &stdout, &stderr)
		}
		command = strings.Replace(command, "'kprobe:tcp_*'", "kprobe:tcp_sendmsg kprobe:tcp_recvmsg kprobe:tcp_v4_connect", 1)
	}
	const connections, messages = 3, 20
	stdout, _ := follow(t, command, func() {
		listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(listener)
		if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(err)
		}
		if err := unix.Listen(listener, 1); err != nil {
			t.Fatal(err)
		}
		at, err := unix.Getsockname(listener)
		if err != nil {
			t.Fatal(err)
		}
		for range connections {
			client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Connect(client, at); err != nil {
				t.Fatal(err)
			}
			server, _, err := unix.Accept(listener)
			if err != nil {
				t.Fatal(err)
			}
			for range messages {
				if n, err := unix.Write(client, []byte("message")); n != 7 {
					t.Fatal(n, err)
				}
				if n, err := unix.Read(server, make([]byte, 7)); n != 7 {
					t.Fatal(n, err)
				}
			}
			unix.Close(client)
			unix.Close(server)
		}
	})
	for function, n := range map[string]int{"tcp_sendmsg": connections * messages, "tcp_recvmsg": connections * messages, "tcp_v4_connect": connections} {
		if line := fmt.Sprintf(`(?m)^ *%d  +"?%s"?$`, n, function); !regexp.MustCompile(line).MatchString(stdout) {
			t.Errorf("%s: no line matches %s:\n%s", command, line, stdout)
		}
	}
}

// testSlowReads reads a pipe, whose writer is slow, and a file, and compares with how long the reads took and how much they
// asked for.
func testSlowReads(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const least, pause, reads, first = time.Millisecond, 5 * time.Millisecond, 12, 1000
	dir := filepath.Join(t.TempDir(), "shelf")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	slow, quick := filepath.Join(dir, "slowly"), filepath.Join(dir, "quickly")
	if err := unix.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(quick, make([]byte, 2*reads*first), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(path string, mode int) int {
		fd, err := unix.Open(path, mode|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	from, to, file := open(slow, unix.O_RDWR), open(slow, unix.O_WRONLY), open(quick, unix.O_RDONLY)
	took := map[string]map[int]time.Duration{"slowly": {}, "quickly": {}} // by the size that was asked for
	read := func(name string, fd, size int) {
		buf, begun := make([]byte, size), time.Now()
		if n, err := unix.Read(fd, buf); n <= 0 {
			t.Errorf("read %s: %d, %v", name, n, err)
		}
		took[name][size] = time.Since(begun)
	}
	begin, ended := make(chan bool), make(chan error, 1)
	state, reading := fmt.Sprintf("/proc/self/task/%d/syscall", unix.Gettid()), fmt.Sprintf("%d %#x ", unix.SYS_READ, from)
	go func() {
		var err error
		for range begin {
			for {
				text, failed := os.ReadFile(state)
				if err = cmp.Or(err, failed); failed != nil || strings.HasPrefix(string(text), reading) {
					break
				}
				time.Sleep(pause / 50)
			}
			time.Sleep(pause)
			_, failed := unix.Write(to, []byte("x"))
			err = cmp.Or(err, failed)
		}
		ended <- err
	}()
	command := recipe(t, "--slower 1ms")
	stdout, _ := follow(t, command, func() {
		for i := range reads {
			begin <- true
			read("slowly", from, first+i)
			read("quickly", file, first+i)
		}
		close(begin)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line := regexp.MustCompile(fmt.Sprintf(`^\S+ \S+/%d latency=(\S+) .*:vfs_read file\.f_path\.dentry\.d_parent\.d_name\.name="shelf" file\.f_path\.dentry\.d_name\.name="(slowly|quickly)" count=(\d+) ->`, os.Getpid()))
	seen := map[string]bool{} // reads of the pipe, by their size: a signal of the runtime may make one two calls
	for text := range strings.Lines(stdout) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if m[2] == "slowly" {
			seen[m[3]] = true
		}
		size, _ := strconv.Atoi(m[3])
		latency, err := time.ParseDuration(m[1])
		if most := took[m[2]][size]; err != nil || latency < least || latency > most+most/100 {
			t.Errorf("%sthe read took %v, error %v", text, most, err)
		}
	}
	if len(seen) != reads {
		t.Errorf("%s prints %d reads of the pipe, want %d:\n%s", command, len(seen), reads, stdout)
	}
}

// testQueryToDisk has a program that has PostgreSQL's probe for queries write to a disk, with and without a query.
func testQueryToDisk(t *testing.T) {
	dir := needs.Disk(t)
	program := needs.Compile(t, "testdata/query.c", "gcc", "-O2")
	p := tracee.Start(t, exec.Command(program, filepath.Join(dir, "table"))).Ready()
	t.Cleanup(func() { p.End() }) // before the disk is taken away
	const writes, queries, idle = 7, 40, 3
	var all, longest time.Duration
	command := recipe(t, "kprobe:ext4_file_write_iter")
	stdout, stderr := follow(t, command, func() {
		if _, err := fmt.Sscan(p.Do("%d %d %d", writes, queries, idle), &all, &longest); err != nil {
			t.Fatal(err)
		}
	})
	m := regexp.MustCompile(fmt.Sprintf(`(?m)^\S+ +%d((?: +\d\S*s){4})$`, queries)).FindStringSubmatch(stdout)
	if m == nil {
		t.Fatalf("%s: no line has %d pairs:\n%s%s", command, queries, stdout, stderr)
	}
	for i, text := range strings.Fields(m[1]) { // their sum, average, minimum and maximum
		most := longest
		if i == 0 {
			most = all
		}
		if d, err := time.ParseDuration(text); err != nil || d <= 0 || d > most+most/100 {
			t.Errorf("%s: queries took %s, the longest one %v, all %v: error %v\n%s", command, text, longest, all, err, stdout)
		}
	}
	if want := fmt.Sprintf("%d pairs, %d starts without an end, %d ends without a start", queries, idle, writes); !strings.Contains(stderr, want) {
		t.Errorf("%s says %s, want %s", command, stderr, want)
	}
}
