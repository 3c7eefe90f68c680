package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// asNobody returns a function that makes commands to run as the user nobody. A
// command's name is one that TestMain knows; commands are copies of this program
// in the returned directory, where that user may write.
func asNobody(t *testing.T) (dir string, command func(name string, args ...string) *exec.Cmd) {
	t.Helper()
	needs.Root(t) // to become another user
	// testscript.Main runs the command that the binary is called by.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func(name string, args ...string) *exec.Cmd {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, self, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cmd
	}
}

// TestCommandUnprivileged checks that a command is not started without the
// privileges to trace it, and that the error names them and what helps.
func TestCommandUnprivileged(t *testing.T) {
	dir, nobody := asNobody(t)
	ran := filepath.Join(dir, "ran")
	cmd := nobody("sdttrace", "a:b", "--", "touch", ran)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if want := "lacks CAP_BPF and CAP_PERFMON; run: sudo " + cmd.Path + " a:b -- touch " + ran +
		"; the probes that a Go service declares can be traced without: sdttrace a:b --user -- touch " + ran + "\n"; !strings.HasSuffix(string(out), want) {
		t.Errorf("got %q, want it to end with %q", out, want)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command ran")
	}
	cmd = nobody("sdttrace", "uprobe:libc.so.6:read", "--", "touch", ran)
	if out, _ := cmd.CombinedOutput(); !strings.HasSuffix(string(out), " -- touch "+ran+"\n") || strings.Contains(string(out), "--user") {
		t.Errorf("of functions, which shared memory does not have, got %q", out)
	}

	// The hint works, and so does the next one.
	cmd = nobody("traced")
	out, _ = nobody("sdttrace", "unpriv:*", "--user", "--", "sh", "-c", cmd.Path+" /dev/null 1; true").CombinedOutput()
	if want := "processes that it starts are not traced, so a shell has to exec the program; a Go program has to load its probes (provider.LoadAll, or USDT_LOAD=1 in its environment)\n"; !strings.Contains(string(out), want) {
		t.Errorf("of what a shell starts, got %q, want %q in it", out, want)
	}
	trace := nobody("sdttrace", "unpriv:tick", "--user", "--limit", "1", "--", "sh", "-c", "exec "+cmd.Path+" "+filepath.Join(dir, "pid"))
	trace.Env = append(os.Environ(), "PROVIDER=unpriv")
	if out, err := trace.CombinedOutput(); err != nil || !strings.Contains(string(out), " unpriv:tick seq=") {
		t.Errorf("of what a shell executes, %v: got %q, want an event", err, out)
	}
}

// TestNoMatchUnprivileged checks that the error for no match says that the
// processes of other users could not be read, and what helps.
func TestNoMatchUnprivileged(t *testing.T) {
	_, nobody := asNobody(t)
	cmd := nobody("sdttrace", "nobody_has_this:*")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	begin, end := "sdttrace: no probe matches nobody_has_this:* ", "lacks CAP_SYS_PTRACE); run: sudo "+cmd.Path+" 'nobody_has_this:*'\n"
	if got := string(out); !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end) {
		t.Errorf("got %q, want it to begin with %q and to end with %q", got, begin, end)
	}
}

// TestListUnprivileged checks that list says how it sees the processes of other users.
func TestListUnprivileged(t *testing.T) {
	_, nobody := asNobody(t)
	cmd := nobody("sdttrace", "list", "nobody_has_this:*")
	out, _ := cmd.CombinedOutput()
	if want := "; run: sudo " + cmd.Path + " list 'nobody_has_this:*'\n"; !strings.Contains(string(out), want) {
		t.Errorf("got %q, want %q in it", out, want)
	}
}

// TestSignalOfOthers checks what a user who may trace, and may not send signals to processes of other
// users, is told.
func TestSignalOfOthers(t *testing.T) {
	_, nobody := asNobody(t)
	path := needs.Compile(t, "../../attach/testdata/signals.c", "gcc", "-O2")
	own := exec.Command(path)
	own.SysProcAttr = nobody("traced").SysProcAttr
	for d := filepath.Dir(path); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mine, others := tracee.StartVictim(t, own).Ready(), tracee.StartVictim(t, exec.Command(path)).Ready()
	trace := func(args ...string) string {
		cmd := nobody("sdttrace", args...)
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE}
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%s%v\n", out, err)
	}
	for _, flag := range []string{"--stop", "--signal=WINCH"} {
		want := fmt.Sprintf("send signals to process %d of user 0: not allowed, this process lacks CAP_KILL", others.PID())
		if got := trace(flag, "-p", fmt.Sprint(others.PID()), "--duration", "1s", "signals:tick"); !strings.Contains(got, want) || !strings.Contains(got, "exit status 1") {
			t.Errorf("%s: got %q, want %q", flag, got, want)
		}
		if got := trace(flag, "--where", "arg0 > 0", "--duration", "1s", path+":signals:tick"); !strings.Contains(got, " spares processes of other users, since sdttrace lacks CAP_KILL") {
			t.Errorf("%s: got %q", flag, got)
		}
		if got := trace(flag, "-p", fmt.Sprint(mine.PID()), "--duration", "1s", "signals:tick"); strings.Contains(got, "CAP_KILL") || !strings.Contains(got, "<nil>") {
			skipRefused(t, bytes.NewBufferString(got))
			t.Errorf("%s: got %q", flag, got)
		}
	}
	mine.Do("")
	others.Do("")
}

// TestUser traces as a user without any capability: by itself sdttrace chooses shared
// memory, and says so in one line.
func TestUser(t *testing.T) {
	_, nobody := asNobody(t)
	service := nobody("traced", "-")
	service.Env = append(os.Environ(), "USDT_LOCAL=1", "PROVIDER=user")
	traced := tracee.StartVictim(t, service).Ready()
	pid := fmt.Sprint(traced.PID())
	const remark = "sdttrace: without privileges, as by --user: only probes that Go services offer are seen, through shared memory, and not those of other programs\n"
	for _, test := range []struct {
		args []string
		want string // on stdout
	}{
		{[]string{"-p", pid, "--limit", "2", "user:tick"}, " user:tick seq="},
		{[]string{"--limit", "1", "--json", "user:*"}, `"provider":"user","name":"tick"`},
		{[]string{"count", "-p", pid, "--duration", "200ms", "--by", "probe", "user*:*"}, "  \"user_pair:begin\"\n"},
		{[]string{"latency", "-p", pid, "--duration", "200ms", "user_pair:begin", "user_pair:end"}, "  count "},
		{[]string{"--limit", "1", "user_child:tick", "--", service.Path, "/tmp/user_child." + pid, "3"}, " user_child:tick seq=1152921504606846976 "},
	} {
		var stdout, stderr bytes.Buffer
		var err error
		for _, lasting := range []string{"200ms", "3s", "30s"} { // others may have the CPU
			stdout.Reset()
			stderr.Reset()
			if i := slices.Index(test.args, "--duration"); i >= 0 {
				test.args[i+1] = lasting
			}
			cmd := nobody("sdttrace", test.args...)
			cmd.Env = append(os.Environ(), "PROVIDER=user_child")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err = cmd.Run(); err != nil || strings.Contains(stdout.String(), test.want) {
				break
			}
		}
		if err != nil || !strings.Contains(stdout.String(), test.want) || strings.Count(stderr.String(), remark) != 1 {
			t.Errorf("%q: %v, want %q and one remark:\n%s%s", test.args, err, test.want, stdout.String(), stderr.String())
		}
	}
	os.Remove("/tmp/user_child." + pid)
	for _, test := range []struct {
		args []string
		want []string // on stderr
	}{
		{[]string{"-q", "-p", pid, "--limit", "1", "user:tick"}, nil},
		{[]string{"-p", pid, "uprobe:*:main.main"}, []string{"lacks CAP_BPF and CAP_PERFMON", "and without privileges: uprobe:*:main.main names functions", "; run: sudo "}},
		{[]string{"-p", fmt.Sprint(os.Getpid()), "user:*"}, []string{"lacks CAP_SYS_PTRACE; run: sudo "}},
	} {
		cmd := nobody("sdttrace", test.args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); (err == nil) != (test.want == nil) || strings.Contains(stderr.String(), remark) {
			t.Errorf("%q: %v: %s", test.args, err, stderr.String())
		}
		for _, want := range test.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%q: it does not say %q: %s", test.args, want, stderr.String())
			}
		}
	}
}
