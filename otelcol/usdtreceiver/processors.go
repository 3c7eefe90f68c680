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
// or file, the control groups that it selects or, if there are none, all processes of the machine.
type processorTime struct {
	target        *Target
	groups        *groups // nil for none
	at            time.Time
	of            map[string]time.Duration // by process or group, or of all, until then
	used, between time.Duration            // between the last two times
}

func newProcessorTime(t *Target) *processorTime {
	p := &processorTime{target: t, groups: newGroups(t), of: map[string]time.Duration{}}
	p.measure(time.Now())
	return p
}

// measure finds out what was used since the last time. A process by id, name or file that has ended meanwhile has
// used something that is not known. Groups have it.
func (p *processorTime) measure(at time.Time) {
	now := map[string]time.Duration{}
	switch t := p.target; {
	case len(t.PIDs) > 0 && !t.Children:
		for _, pid := range t.PIDs {
			if stat, ok := statOf(strconv.Itoa(pid)); ok {
				now[strconv.Itoa(pid)] = stat.used
			}
		}
	case t.Comm != "" || t.Exe != "":
		p.named(now)
	default:
		if p.groups != nil {
			now = p.groups.times()
		}
		if len(now) == 0 {
			now["all"] = ofMachine()
		}
		for id, used := range now {
			if _, ok := p.of[id]; !ok { // it may be old
				p.of[id] = used
			}
		}
	}
	p.used = 0
	for id, used := range now {
		p.used += max(used-p.of[id], 0)
	}
	p.of, p.at, p.between = now, at, at.Sub(p.at)
}

// named adds the processes of a name or a file. A file is the same by any of its paths: Exe may be a
// symbolic link, and a container has other paths.
func (p *processorTime) named(to map[string]time.Duration) {
	var file os.FileInfo
	if p.target.Exe != "" {
		var err error
		if file, err = os.Stat(p.target.Exe); err != nil {
			return // nobody runs it
		}
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // only a wrong pattern is an error
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		stat, ok := statOf(pid)
		if !ok || p.target.Comm != "" && stat.comm != p.target.Comm {
			continue
		}
		if file != nil {
			if exe, err := os.Stat(dir + "/exe"); err != nil || !os.SameFile(exe, file) {
				continue
			}
		}
		if p.groups == nil || p.groups.has(pid) {
			to[pid] = stat.used
		}
	}
}

// ofMachine returns the processor time of all processes.
func ofMachine() (used time.Duration) {
	text, _ := os.ReadFile("/proc/stat") // 0 exceeds any budget
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 { // the name, idle, iowait, and guests, which user has
			continue
		}
		used += ticks(field)
	}
	return used
}

// stat is what the kernel says of a process.
type stat struct {
	comm string
	used time.Duration // by all threads
}

// statOf reads it: proc(5), comm, utime and stime. ok is false if the process has ended.
func statOf(pid string) (s stat, ok bool) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	begin, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if err != nil || begin < 0 || end < begin {
		return stat{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) <= 12 {
		return stat{}, false
	}
	return stat{string(text[begin+1 : end]), ticks(fields[11]) + ticks(fields[12])}, true
}

func ticks(field string) time.Duration {
	n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
	return time.Duration(n) * tickOfClock
}
