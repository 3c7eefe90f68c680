package usdtreceiver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
)

// checked is how often the share of processor time is computed.
const checked = time.Second

// watchCPU ends the session once its programs take more of the target's processor time than they may,
// as the kernel measures both. Where it does not measure, the session also ends.
func (e *env) watchCPU(ctx context.Context, tracer attach.Tracer) {
	enabled, _ := os.ReadFile("/proc/sys/kernel/bpf_stats_enabled") // without it there is the other way
	if strings.TrimSpace(string(enabled)) != "1" {
		measuring, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
		if err != nil {
			e.stop(&overBudget{fmt.Sprintf("max_cpu_percent: the kernel does not measure programs: set kernel.bpf_stats_enabled, or give CAP_SYS_ADMIN: %v", err)})
			return
		}
		defer measuring.Close()
	}
	target := newProcessorTime(&e.trace.Target)
	target.more()
	before, err := tracer.Cost()
	tick := time.NewTicker(checked)
	defer tick.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var cost attach.Cost
		if cost, err = tracer.Cost(); err != nil {
			break
		}
		took, of := cost.Time-before.Time, target.more()
		before = cost
		if percent := 100 * float64(took) / float64(max(of, tickOfClock)); percent > e.trace.MaxCPUPercent {
			e.stop(&overBudget{fmt.Sprintf("%v is %.3g%% of the processor time, more than max_cpu_percent", took, percent)})
			return
		}
	}
}

// tickOfClock is the unit in which /proc counts processor time, USER_HZ: asm/param.h. Less cannot be told
// from nothing.
const tickOfClock = 10 * time.Millisecond

// processorTime is what a target has used of the processors: the processes that it names by id, name
// or file, or else all processes of the machine.
type processorTime struct {
	target *Target
	used   map[string]time.Duration // by process, or of all
}

func newProcessorTime(t *Target) *processorTime { return &processorTime{t, map[string]time.Duration{}} }

// more returns what was used since the last time.
func (p *processorTime) more() time.Duration {
	now := map[string]time.Duration{}
	switch t := p.target; {
	case len(t.PIDs) > 0 && !t.Children:
		for _, pid := range t.PIDs {
			ofProcess(now, strconv.Itoa(pid))
		}
	case t.Comm != "" || t.Exe != "":
		dirs, _ := filepath.Glob("/proc/[0-9]*") // only a wrong pattern is an error
		for _, dir := range dirs {
			comm, _ := os.ReadFile(dir + "/comm") // it may have ended
			exe, _ := os.Readlink(dir + "/exe")
			if (t.Comm == "" || strings.TrimSuffix(string(comm), "\n") == t.Comm) && (t.Exe == "" || exe == t.Exe) {
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
	more := time.Duration(0)
	for id, used := range now {
		more += max(used-p.used[id], 0)
	}
	p.used = now
	return more
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
