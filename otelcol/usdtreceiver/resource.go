package usdtreceiver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/go-usdt/usdt/internal/container"
)

// resources describe processes by the semantic conventions, so that k8sattributes and
// resourcedetection can add to them.
type resources struct {
	host  string
	known map[int]process
}

// process is what is known of one, which may have become another's id after a while.
type process struct {
	attributes map[string]string
	until      time.Time
}

const (
	maxProcesses = 4096
	lasting      = 10 * time.Second
)

func newResources() *resources {
	host, _ := os.Hostname() // without it there is no host.name
	return &resources{host: host, known: map[int]process{}}
}

// machine describes the machine.
func (r *resources) machine(to pcommon.Resource) {
	if r.host != "" {
		to.Attributes().PutStr("host.name", r.host)
	}
}

// process describes a process. If it has ended, only the number is known.
func (r *resources) process(to pcommon.Resource, pid int) {
	r.machine(to)
	if pid <= 0 {
		return
	}
	to.Attributes().PutInt("process.pid", int64(pid))
	now := time.Now()
	p, ok := r.known[pid]
	if !ok || now.After(p.until) {
		if len(r.known) >= maxProcesses {
			clear(r.known)
		}
		p = process{look(pid), now.Add(lasting)}
		if len(p.attributes) == 0 && ok {
			p.attributes = r.known[pid].attributes // it has ended
		}
		r.known[pid] = p
	}
	for name, value := range p.attributes {
		to.Attributes().PutStr(name, utf8(value))
	}
}

// look reads what /proc shows of a process.
func look(pid int) map[string]string {
	out := map[string]string{}
	proc := fmt.Sprintf("/proc/%d/", pid)
	if exe, err := os.Readlink(proc + "exe"); err == nil {
		exe = strings.TrimSuffix(exe, " (deleted)")
		out["process.executable.path"], out["process.executable.name"] = exe, filepath.Base(exe)
	}
	groups, _ := os.ReadFile(proc + "cgroup")
	for line := range strings.Lines(string(groups)) { // of version 1 or 2
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		if in := container.Parse(parts[2]); in.ID != "" || in.Pod != "" {
			if in.ID != "" {
				out["container.id"] = in.ID
			}
			if in.Pod != "" {
				out["k8s.pod.uid"] = in.Pod
			}
			break
		}
	}
	return out
}
