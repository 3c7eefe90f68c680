package usdtreceiver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

const deploy = "../../deploy/"

// yaml reads a file.
func yaml(t *testing.T, name string) map[string]any {
	t.Helper()
	conf, err := confmaptest.LoadConf(deploy + name)
	if err != nil {
		t.Fatal(err)
	}
	return conf.ToStringMap()
}

// at returns what is at a path, where a number is the index of a list.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
		if v == nil {
			t.Fatalf("there is nothing at %v of %v", step, path)
		}
	}
	return v
}

// TestUnit has systemd check the unit.
func TestUnit(t *testing.T) {
	needs.Tools(t, "systemd-analyze")
	unit, err := os.ReadFile(deploy + "otelcol-usdt.service")
	if err != nil {
		t.Fatal(err)
	}
	// A command that exists here; it is not run.
	text := strings.Replace(string(unit), "/usr/local/bin/otelcol-usdt", "/bin/true", 1)
	file := filepath.Join(t.TempDir(), "otelcol-usdt.service")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(file)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnitReloads runs the command by which the unit reloads: a configuration with a wrong entry is named,
// and the collector goes on as before; another one is taken.
func TestUnitReloads(t *testing.T) {
	needs.Root(t)
	unit, err := os.ReadFile(deploy + "otelcol-usdt.service")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^ExecReload=/bin/sh -c '(.*)'$`).FindSubmatch(unit)
	if m == nil {
		t.Fatal("the unit has no ExecReload")
	}
	const text = `
receivers: {usdt: {traces: [{probes: ["nobody_has_this:probe"], logs: {}}%s]}}
exporters: {debug: {}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [usdt], exporters: [debug]}}}
`
	file := filepath.Join(t.TempDir(), "collector.yaml")
	config := func(more string) {
		if err := os.WriteFile(file, fmt.Appendf(nil, text, more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config("")
	p := begins(t, "", collector(t), "--config", file)
	ready := func(times int) func() bool {
		return func() bool { p.lives(t); return strings.Count(p.said(), "Everything is ready") >= times }
	}
	eventually(t, "the collector is not ready", ready(1))
	reload := func() ([]byte, error) {
		cmd := exec.Command("/bin/sh", "-c", strings.NewReplacer("/usr/local/bin/otelcol-usdt", collector(t), "/etc/otelcol-usdt/collector.yaml", file).Replace(string(m[1])))
		cmd.Env = append(os.Environ(), fmt.Sprintf("MAINPID=%d", p.cmd.Process.Pid))
		return cmd.CombinedOutput()
	}
	config(`, {probes: ["a:b"], where: "x >", logs: {}}`)
	if out, err := reload(); err == nil || !strings.Contains(string(out), "traces::1") {
		t.Errorf("%v, want an error about the second entry: %s", err, out)
	}
	config(`, {probes: ["nobody_has_this:either"], logs: {}}`)
	if out, err := reload(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	eventually(t, "the collector does not reload", ready(2))
	if n := strings.Count(p.said(), "Config updated"); n != 1 {
		t.Errorf("%d reloads, want one", n)
	}
}

// TestDockerfile has the collector accept its configuration in a root directory with what the image has, and nothing
// else.
func TestDockerfile(t *testing.T) {
	needs.Root(t)
	text, err := os.ReadFile(deploy + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	root, program := t.TempDir(), collector(t)
	copies := regexp.MustCompile(`(?m)^COPY (\S+) (\S+)$`).FindAllStringSubmatch(string(text), -1)
	if len(copies) != 2 || !strings.Contains(string(text), "\nFROM scratch\n") {
		t.Fatalf("%d files are copied", len(copies))
	}
	for _, c := range copies {
		from := "../../" + c[1]
		if c[1] == "bin/otelcol/otelcol-usdt" {
			from = program
		}
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(root+c[2]), 0o755), os.WriteFile(root+c[2], content, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	words := func(of string) (list []string) {
		_, after, _ := strings.Cut(string(text), "\n"+of+" ")
		line, _, _ := strings.Cut(after, "\n")
		if err := json.Unmarshal([]byte(line), &list); err != nil || len(list) == 0 {
			t.Fatalf("%s %s: %v", of, line, err)
		}
		return list
	}
	cmd := exec.Command(words("ENTRYPOINT")[0], append([]string{"validate"}, words("CMD")...)...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %v\n%s", cmd, err, out)
	}
}

// TestKubernetes checks that the DaemonSet and the values for Helm say the same, that nothing is
// privileged, and that each volume is mounted.
func TestKubernetes(t *testing.T) {
	set, values := yaml(t, "daemonset.yaml"), yaml(t, "values.yaml")
	pod := at(t, set, "spec", "template", "spec")
	container := at(t, pod, "containers", 0)
	for name, pair := range map[string][2]any{
		"hostPID":   {at(t, pod, "hostPID"), at(t, values, "hostPID")},
		"volumes":   {at(t, pod, "volumes"), at(t, values, "extraVolumes")},
		"mounts":    {at(t, container, "volumeMounts"), at(t, values, "extraVolumeMounts")},
		"resources": {at(t, container, "resources"), at(t, values, "resources")},
		"security":  {at(t, container, "securityContext"), at(t, values, "securityContext")},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v in daemonset.yaml, %v in values.yaml", name, pair[0], pair[1])
		}
	}
	if security := at(t, container, "securityContext").(map[string]any); security["privileged"] != false || security["readOnlyRootFilesystem"] != true {
		t.Errorf("security %v", security)
	}
	unit, err := os.ReadFile(deploy + "otelcol-usdt.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range at(t, container, "securityContext", "capabilities", "add").([]any) {
		if !regexp.MustCompile(`(?m)^CapabilityBoundingSet=.*\bCAP_` + c.(string) + `\b`).Match(unit) {
			t.Errorf("the unit of systemd has no capability %v", c)
		}
	}
	var names, mounted []string
	for _, v := range at(t, pod, "volumes").([]any) {
		names = append(names, at(t, v, "name").(string))
	}
	for _, v := range at(t, container, "volumeMounts").([]any) {
		mounted = append(mounted, at(t, v, "name").(string))
	}
	if !slices.Equal(names, mounted) {
		t.Errorf("volumes %q, mounted %q", names, mounted)
	}
}
