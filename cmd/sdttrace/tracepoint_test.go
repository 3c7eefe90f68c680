package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestTracepoints has verbs of sdttrace trace the system calls of a command, and list what there is.
func TestTracepoints(t *testing.T) {
	needs.Root(t)
	needs.Tracepoints(t)
	dir := t.TempDir()
	recording := filepath.Join(dir, "calls.rec")
	var stdout, stderr strings.Builder
	sdttrace := executed(t, &stdout, &stderr)
	const write = "tracepoint:syscalls:sys_enter_write"
	for _, c := range []struct {
		args   []string
		stdout string // all patterns must match
		stderr string
	}{
		{[]string{"list", "-v", "tracepoint:sched:sched_switch"}, `(?m)^- +- +tracepoint:sched:sched_switch +- +prev_comm char\[16\], prev_pid pid_t, prev_prio int, `, ""},
		{[]string{"list", "-v", "--json", write}, `"kind":"tracepoint","provider":"syscalls","name":"sys_enter_write",.*\{"name":"count","type":"size_t","argument":true\}`, ""},
		{[]string{write, "--", "echo", "hello"}, `echo/\d+ tracepoint:syscalls:sys_enter_write fd=1 buf="hello\\n" count=6\n`, "1 event, 0 lost"},
		{[]string{"--json", "--args", "count,__syscall_nr", write, "--", "echo", "hello"}, `"provider":"syscalls","name":"sys_enter_write","kind":"tracepoint",.*"args":\{"count":6,"__syscall_nr":\d+\}`, ""},
		{[]string{"--fields", "args", "--where", `buf == "hello\n" && fd == 1`, write, "--", "echo", "hello"}, `^fd=1 buf="hello\\n" count=6\n$`, ""},
		{[]string{"--where", "count > 6", write, "--", "echo", "hello"}, `^$`, "0 events, 0 lost, 1 filtered"},
		{[]string{"count", "--by", "func,module,fd", write, "--", "echo", "hello"}, `(?m)^ +1 +"?sys_enter_write"? +"?syscalls"? +1$`, ""},
		{[]string{"stats", "count", write, "--", "echo", "hello"}, ` 1 +6 +6 +6 +6 `, ""},
		{[]string{"hist", "count", write, "--", "echo", "hello"}, `(?m)^ +4 - 8 +1 `, ""},
		{[]string{"latency", write, "tracepoint:syscalls:sys_exit_write", "--by", "fd", "--", "echo", "hello"}, `(?m)^ +1 .* 1$`, "1 pair;"},
		{[]string{"latency", write, "--", "echo", "hello"}, "", "1 pair;"},
		{[]string{"--stack", "--limit", "1", write, "--", "echo", "hello"}, `(?m)^\t.* \[kernel\]$`, ""},
		{[]string{"record", "-o", recording, write, "--", "echo", "hello"}, `^hello|^$`, "1 event,"},
		{[]string{"--from", recording}, `sys_enter_write fd=1 buf="hello\\n" count=6\n`, ""},
		{[]string{"count", "--from", recording, "--by", "buf", "tracepoint:sys*:*write"}, `(?m)^ +1 +"hello\\n"$`, ""},
	} {
		code := sdttrace(c.args...)
		if code != 0 || !regexp.MustCompile(c.stdout).MatchString(stdout.String()) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, prints %.2000s%s, want %s, %s", c.args, code, &stdout, &stderr, c.stdout, c.stderr)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"count", "tracepoint:sched:sched_swich"}, "sdttrace: no probe matches tracepoint:sched:sched_swich in the kernel, but tracepoint:sched:sched_switch would\n"},
		{[]string{"list", "tracepoint:shed:*"}, "no probe matches tracepoint:shed:* in the kernel, but 'tracepoint:sched:*' would"},
		{[]string{"count", "tracepoint:sched_switch"}, `for a probe of a provider that is called tracepoint, write \tracepoint:NAME`},
		{[]string{"--args", "bufer", write}, "no variable bufer is a field of the event; the nearest is buf"},
		{[]string{"count", "tracepoint:ftrace:print"}, "the kernel does not let programs be attached to this tracepoint"},
		{[]string{"--user", write}, "only the kernel traces"},
	} {
		if code := sdttrace(c.args...); code == 0 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit code %d, prints %s%s, want %s", c.args, code, &stdout, &stderr, c.want)
		}
	}
	if code := sdttrace("__complete", "count", "tracepoint:sched:sched_switc"); code != 0 || !strings.HasPrefix(stdout.String(), "tracepoint:sched:sched_switch\n") {
		t.Errorf("completion: exit code %d, prints %s", code, &stdout)
	}
}

// TestFirstInstruction has the kernel's events trace a command from its first instruction, alone and beside
// probes of the command and its libraries, which its dynamic linker maps meanwhile.
func TestFirstInstruction(t *testing.T) {
	needs.Root(t)
	needs.Tracepoints(t)
	needs.C(t)
	program := filepath.Join(t.TempDir(), "linked")
	if err := os.WriteFile(program+".c", []byte("#include <unistd.h>\nint main(void) { return getppid() == 0; }"), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O1", "-o", program, program+".c")
	var stdout, stderr strings.Builder
	sdttrace := executed(t, &stdout, &stderr)
	const open = "tracepoint:syscalls:sys_enter_openat"
	for _, also := range [][]string{nil, {"uprobe:" + program + ":main", "uprobe:libc.so.6:getppid"}} {
		stdout.Reset()
		args := append(append([]string{"print", open}, also...), "--", program)
		if code := sdttrace(args...); code != 0 || !regexp.MustCompile(`openat .*filename="[^"]*/libc\.so`).MatchString(stdout.String()) {
			t.Errorf("%q: exit code %d, prints %s%s, want the libc that the dynamic linker opens", args, code, &stdout, &stderr)
		}
		for _, probe := range also {
			if name := probe[strings.LastIndexByte(probe, ':'):]; strings.Count(stdout.String(), name) != 1 {
				t.Errorf("%q: prints %s%s, want %s once", args, &stdout, &stderr, name)
			}
		}
	}
}
