package usdtreceiver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// contained is the variable of the environment that has this program fire as often as it is told, in
// a container.
const contained = "USDTRECEIVER_CONTAINED"

// obey fires sale once for each line that is read, and answers each.
func obey() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		sale.Fire(lines.Text(), 1, "")
		fmt.Println()
	}
}

// inContainer is a process in a control group of its own, with namespaces of its own.
type inContainer struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// contain starts one, in a group that it makes.
func contain(dir string) (*inContainer, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	group, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer group.Close()
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &inContainer{cmd: exec.Command("unshare", "--cgroup", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--ipc", exe)}
	c.cmd.Env = append(os.Environ(), contained+"=1")
	c.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd()), Pdeathsig: syscall.SIGKILL}
	c.cmd.Stderr = os.Stderr
	in, err1 := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	return c, c.cmd.Start()
}

// fire fires once, and returns afterwards.
func (c *inContainer) fire(item string) error {
	if _, err := fmt.Fprintln(c.in, item); err != nil {
		return err
	}
	_, err := c.out.ReadString('\n')
	return err
}

// end ends the process, and removes its control group.
func (c *inContainer) end(dir string) error {
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return err
	}
	return os.Remove(dir)
}

// TestContainers starts and stops 50 containers of a pod, and others, during a trace of the pod: none of its
// events is missed once the container is known, and no other one is seen. Resources have what other
// components of the collector join by.
func TestContainers(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "unshare")
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		needs.Skip(t, "the hierarchy of control groups cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	uid := fmt.Sprintf("0f3a5c7e-9b1d-4e2f-8a6b-%012x", os.Getpid())
	top := filepath.Join(root, fmt.Sprintf("usdt_pods_%d", os.Getpid()))
	pod, beside := top+"/kubepods-pod"+strings.ReplaceAll(uid, "-", "_")+".slice", top+"/system.slice"
	for _, dir := range []string{top, pod, beside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	counted, written := &consumertest.MetricsSink{}, &consumertest.LogsSink{}
	tel := componenttest.NewTelemetry()
	trace := usdtreceiver.Trace{Name: "pod", Probes: []string{"otelshop:sale"}, Target: usdtreceiver.Target{Pod: uid}, MaxEventsPerSecond: 1e6}
	metrics, logs := trace, trace
	metrics.Metrics, logs.Logs = &usdtreceiver.Metrics{By: []string{"container", "item"}, Interval: 20 * time.Millisecond}, &usdtreceiver.Logs{}
	stop := start(t, 2, tel, func(set receiver.Settings) (component.Component, error) {
		m, err := usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(metrics), counted)
		if err != nil {
			return nil, err
		}
		l, err := usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(logs), written)
		return two{m, l}, err
	})
	const containers, others, sales = 50, 10, 40
	id := func(i int) string { return fmt.Sprintf("%012x%052d", 0xc0ffee000000+i, os.Getpid()) }
	var beyond, all sync.WaitGroup
	quit := make(chan struct{})
	for i := range others { // they fire all the time
		dir := fmt.Sprintf("%s/docker-%s.scope", beside, id(1000+i))
		c, err := contain(dir)
		if err != nil {
			t.Fatal(err)
		}
		beyond.Go(func() {
			for {
				select {
				case <-quit:
					if err := c.end(dir); err != nil {
						t.Error(err)
					}
					return
				case <-time.After(time.Millisecond):
					if err := c.fire("other"); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	waves := make(chan int) // a few at a time
	for range 5 {
		all.Go(func() {
			for i := range waves {
				dir := fmt.Sprintf("%s/cri-containerd-%s.scope", pod, id(i))
				c, err := contain(dir)
				if err != nil {
					t.Error(err)
					continue
				}
				item := fmt.Sprint("warm ", i)
				known := func() bool { return countOf(counted, item) > 0 && recordsOf(written, item) > 0 }
				for deadline := time.Now().Add(patience); !known() && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					if err := c.fire(item); err != nil {
						t.Errorf("container %d: %v", i, err)
						break
					}
				}
				for range sales {
					if err := c.fire(fmt.Sprint("then ", i)); err != nil {
						t.Errorf("container %d: %v", i, err)
						break
					}
				}
				if err := c.end(dir); err != nil {
					t.Errorf("container %d: %v", i, err)
				}
			}
		})
	}
	for i := range containers {
		waves <- i
	}
	close(waves)
	all.Wait()
	close(quit)
	beyond.Wait()
	if o := outcomes(t, tel, "pod"); o["lost"]+o["missed"]+o["over_budget"] != 0 {
		t.Errorf("telemetry says %v", o)
	}
	stop()
	counts := map[string]int64{}
	each(counted.AllMetrics(), "pod.count", func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) {
		for i := range m.Sum().DataPoints().Len() {
			p := m.Sum().DataPoints().At(i)
			container, _ := p.Attributes().Get("container")
			item, _ := p.Attributes().Get("item")
			counts[container.Str()+" "+item.Str()] = p.IntValue()
		}
	})
	records := map[string]int64{}
	eachLog(written.AllLogs(), func(r plog.ResourceLogs, _ plog.ScopeLogs, l plog.LogRecord) {
		container, _ := r.Resource().Attributes().Get("container.id")
		of, _ := r.Resource().Attributes().Get("k8s.pod.uid")
		item, _ := l.Attributes().Get("item")
		records[container.Str()+" "+of.Str()+" "+item.Str()]++
	})
	for i := range containers {
		item := fmt.Sprint("then ", i)
		if got := counts[id(i)[:12]+" "+item]; got != sales {
			t.Errorf("container %d: %d events counted, want %d", i, got, sales)
		}
		if got := records[id(i)+" "+uid+" "+item]; got != sales {
			t.Errorf("container %d: %d records, want %d", i, got, sales)
		}
	}
	if len(counts) != 2*containers || len(records) != 2*containers {
		t.Errorf("%d groups and %d resources with items, want %d: %v, %v", len(counts), len(records), 2*containers, counts, records)
	}
}

// countOf returns how many events of an item are counted.
func countOf(sink *consumertest.MetricsSink, item string) int64 {
	all := sink.AllMetrics()
	if len(all) == 0 {
		return 0
	}
	counts, _, _ := numbers(all[len(all)-1:], "pod.count", "item")
	return counts[item]
}

// recordsOf returns how many records of an item there are.
func recordsOf(sink *consumertest.LogsSink, item string) (n int) {
	eachLog(sink.AllLogs(), func(_ plog.ResourceLogs, _ plog.ScopeLogs, l plog.LogRecord) {
		if v, _ := l.Attributes().Get("item"); v.Str() == item {
			n++
		}
	})
	return n
}

// two are two receivers that start and stop together.
type two [2]component.Component

func (t two) Start(ctx context.Context, host component.Host) error {
	return errors.Join(t[0].Start(ctx, host), t[1].Start(ctx, host))
}

func (t two) Shutdown(ctx context.Context) error {
	return errors.Join(t[0].Shutdown(ctx), t[1].Shutdown(ctx))
}
