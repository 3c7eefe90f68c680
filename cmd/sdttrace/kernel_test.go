package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestKernelFunctions checks what list prints of functions of the kernel, and that tracing says what a pattern leaves out.
// A kernel without kprobes gives each verb one reason.
func TestKernelFunctions(t *testing.T) {
	var stdout, stderr strings.Builder
	sdttrace := executed(t, &stdout, &stderr)
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe/type"); err != nil {
		for _, args := range [][]string{{"list", "kprobe:tcp_*"}, {"list", "--json", "kretprobe:vfs_fallocate"}, {"count", "kprobe:vfs_fallocate"}, {"kprobe:vfs_fallocate"}} {
			if code := sdttrace(args...); code == 0 || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "sdttrace: this kernel was built without kprobes (CONFIG_KPROBES): its functions cannot be traced, system calls and other events can (tracepoint:SYSTEM:EVENT): not supported\n") {
				t.Errorf("%q: exit code %d, prints %s%s", args, code, &stdout, &stderr)
			}
		}
		// Some of these kernels forbid even root to ask.
		refused := regexp.MustCompile(`^sdttrace: (this kernel has no BPF trampolines at its functions, which fentry: and fexit: take |ask the kernel for trampolines: not allowed )`)
		for _, args := range [][]string{{"list", "fentry:tcp_*"}, {"count", "fexit:vfs_fallocate"}} {
			if code := sdttrace(args...); code == 0 || stdout.Len() > 0 || !refused.MatchString(stderr.String()) {
				t.Errorf("%q: exit code %d, prints %s%s", args, code, &stdout, &stderr)
			}
		}
		return
	}
	for _, c := range []struct {
		args, want string
	}{
		{"list kprobe:tcp_*", `(?m)^0xf[0-9a-f]+  +-  +kprobe:vmlinux:tcp_sendmsg  +-$`},
		{"list -v kprobe:vfs_fallocate kretprobe:vfs_fallocate", `(?m)kprobe:vmlinux:vfs_fallocate +- +file struct file \*, mode int, offset loff_t, len loff_t$`},
		{"list -v kretprobe:vfs_fallocate", `(?m)kretprobe:vmlinux:vfs_fallocate +- +retval int$`},
		{"list -v --json kprobe:vfs_fallocate", `^\{"kind":"kprobe","provider":"vmlinux","name":"vfs_fallocate","location":.*"variables":\[.*\{"name":"len","type":"loff_t","argument":true\}\]\}
$`},
	} {
		if code := sdttrace(strings.Fields(c.args)...); code != 0 || !regexp.MustCompile(c.want).MatchString(stdout.String()) {
			t.Errorf("%s: exit code %d, prints %.2000s%s, want %s", c.args, code, &stdout, &stderr, c.want)
		}
	}
	if code := sdttrace("list", "-v", "fentry:vfs_fallocate", "fexit:vfs_fallocate"); code == 0 {
		for _, want := range []string{
			`(?m)fentry:vmlinux:vfs_fallocate +- +file struct file \*, mode int, offset loff_t, len loff_t$`,
			`(?m)fexit:vmlinux:vfs_fallocate +- +file struct file \*, mode int, offset loff_t, len loff_t, retval int$`,
		} {
			if !regexp.MustCompile(want).MatchString(stdout.String()) {
				t.Errorf("list prints %s%s, want %s", &stdout, &stderr, want)
			}
		}
		if code := sdttrace("latency", "--duration", "10ms", "fentry:vfs_fallocate"); code != 0 || !strings.Contains(stderr.String(), "attached 2 of 2 sites") {
			t.Errorf("latency: exit code %d, %s", code, &stderr)
		}
	} else if runtime.GOARCH != "arm64" || !strings.Contains(stderr.String(), "no BPF trampolines") {
		t.Errorf("list: exit code %d, %s", code, &stderr)
	}
	slow := filepath.Join(t.TempDir(), "slowly")
	if err := os.WriteFile(slow, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	const file = "file.f_path.dentry.d_name.name"
	if code := sdttrace("latency", "--slower", "1ns", "--args", file+",count", "kprobe:vfs_read", "--", "dd", "if="+slow, "of=/dev/null"); code != 0 || !regexp.MustCompile(`file\.f_path\.dentry\.d_name\.name="slowly" count=[1-9]`).MatchString(stdout.String()) {
		t.Errorf("reads of a file: exit code %d, prints %.2000s%s", code, &stdout, &stderr)
	}
	if code := sdttrace("count", "--by", file, "kprobe:vfs_read", "--", "dd", "if="+slow, "of=/dev/null"); code != 0 || !strings.Contains(stdout.String(), "slowly") {
		t.Errorf("reads by file: exit code %d, prints %.2000s%s", code, &stdout, &stderr)
	}
	if code := sdttrace("count", "--duration", "10ms", "kprobe:vfs_fallocat?", "kprobe:rcu_barrie?"); code == 0 || !strings.Contains(stderr.String(), "name such a function exactly") {
		t.Errorf("a pattern that selects nothing: exit code %d, %s", code, &stderr)
	}
	const remark = "functions or events of the kernel that run all the time are left out: name one, or an event's system, exactly to trace it\n"
	if code := sdttrace("count", "--duration", "10ms", "kprobe:*_barrier"); code != 0 || !regexp.MustCompile(`(?m)^sdttrace: [1-9][0-9]* `+remark).MatchString(stderr.String()) {
		t.Errorf("a pattern that leaves out: exit code %d, %s", code, &stderr)
	}
	if code := sdttrace("count", "--duration", "10ms", "kprobe:vfs_fallocate"); code != 0 || strings.Contains(stderr.String(), remark) || !strings.Contains(stderr.String(), "attached 1 of 1 site") {
		t.Errorf("an exact name: exit code %d, %s", code, &stderr)
	}
}

// TestKernelPage has a page of a system call and, where there are kprobes, of the kernel's function behind it, and
// compares its numbers with the reads of one byte that a command makes. A page of calls pairs them with their returns.
func TestKernelPage(t *testing.T) {
	var stdout, stderr strings.Builder
	sdttrace := executed(t, &stdout, &stderr)
	dir := t.TempDir()
	file, page := filepath.Join(dir, "file"), filepath.Join(dir, "page")
	const size = 40
	if err := os.WriteFile(file, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	selectors, pair := []string{"tracepoint:syscalls:sys_enter_read"}, "tracepoint:syscalls:sys_enter_read,tracepoint:syscalls:sys_exit_read"
	want := map[string]int{"syscalls:sys_enter_read": size + 1} // the last one finds the end
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe/type"); err == nil {
		selectors, pair = append(selectors, "kprobe:vfs_read"), "kprobe:vfs_read,kretprobe:vfs_read"
		want["vmlinux:vfs_read"] = size + 1
	}
	run := func(args ...string) (p struct {
		Probes, Spans []struct {
			Name  string
			Count int
			Took  struct{ Count int } // of Spans
		}
	}) {
		args = append(append([]string{"page", "-o", page}, args...), "--", "dd", "if="+file, "of=/dev/null", "bs=1")
		if code := sdttrace(args...); code != 0 {
			t.Fatalf("%s: exit code %d, prints %s", args, code, &stderr)
		}
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := pageParts(data)
		if err == nil {
			err = json.Unmarshal(parts[0], &p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	got := map[string]int{}
	for _, probe := range run(append([]string{"--where", "count == 1"}, selectors...)...).Probes {
		got[probe.Name] += probe.Count
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the page has %v, want %v", got, want)
	}
	if spans := run("--span", pair).Spans; len(spans) != 1 || spans[0].Took.Count < size+1 { // and what loads the command
		t.Errorf("the page has pairs %+v, want %d or more", spans, size+1)
	}
}
