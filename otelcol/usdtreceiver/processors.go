package usdtreceiver

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tickOfClock is the unit in which /proc counts processor time, USER_HZ: asm/param.h. Less cannot be told
// from nothing.
const tickOfClock = 10 * time.Millisecond

// processorTime is what a target has used of the processors: the processes that it names by id, name
// or file, or else all processes of the machine.
type processorTime struct {
	target        *Target
	at            time.Time
	of            map[string]time.Duration // by process, or of all, until then
	used, between time.Duration            // between the last two times
}

func newProcessorTime(t *Target) *processorTime {
	p := &processorTime{target: t}
	p.measure(time.Now())
	return p
}

// measure finds out what was used since the last time.
func (p *processorTime) measure(at time.Time) {
	now := map[string]time.Duration{}
	switch t := p.target; {
	case len(t.PIDs) > 0 && !t.Children:
		for _, pid := range t.PIDs {
			ofProcess(now, strconv.Itoa(pid))
		}
	case t.Comm != "" || t.Exe != "":
		dirs, _ := filepath.Glob("/proc/[0-9]*") // only a wrong pattern is an error
		for _, dir := range dirs {
			if t.has(dir) {
				ofProcess(now, filepath.Base(dir))
			}
		}
	default:
		text, _ := os.ReadFile("/proc/stat") // 0 exceeds any budget
		line, _, _ := strings.Cut(string(text), "\n")
		for i, field := range strings.Fields(line) {
			if i == 0 || i == 4 || i == 5 || i > 8 { // the name, idle, iowait, and guests, which user has
				continue
			}
			now["all"] += ticks(field)
		}
	}
	p.used = 0
	for id, used := range now {
		p.used += max(used-p.of[id], 0)
	}
	p.of, p.at, p.between = now, at, at.Sub(p.at)
}

// has reports whether Comm and Exe select the process of a directory of /proc. A file is the same by any
// of its paths: Exe may be a symbolic link, and a container has other paths.
func (t *Target) has(dir string) bool {
	if t.Comm != "" {
		comm, err := os.ReadFile(dir + "/comm")
		if err != nil || strings.TrimSuffix(string(comm), "\n") != t.Comm {
			return false // it may have ended
		}
	}
	if t.Exe == "" {
		return true
	}
	want, err := os.Stat(t.Exe)
	if err != nil {
		return false
	}
	exe, err := os.Stat(dir + "/exe")
	return err == nil && os.SameFile(exe, want)
}

// ofProcess adds the processor time of all threads of a process: proc(5), utime and stime.
func ofProcess(to map[string]time.Duration, pid string) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return // it has ended
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) > 12 {
		to[pid] = ticks(fields[11]) + ticks(fields[12])
	}
}

func ticks(field string) time.Duration {
	n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
	return time.Duration(n) * tickOfClock
}
