package container_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/container"
)

// files writes files below a root directory; a name that ends in '/' is a directory.
func files(t *testing.T, all map[string]string) container.Names {
	t.Helper()
	root := t.TempDir()
	for name, text := range all {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return container.Names{Root: root}
}

const (
	dockerFile  = "var/lib/docker/containers/" + id + "/config.v2.json"
	storageFile = "var/lib/containers/storage/overlay-containers/containers.json"
	briefFile   = "run/containers/storage/overlay-containers/volatile-containers.json"
)

func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		pod   string
	}{
		"none":       {},
		"docker":     {files: map[string]string{dockerFile: `{"State":{"Running":true},"ID":"` + id + `","Name":"/web"}`}, want: []string{"web"}},
		"podman":     {files: map[string]string{storageFile: `[{"id":"00","names":["no"]},{"id":"` + id + `","names":["web"],"image":"x"}]`}, want: []string{"web"}},
		"volatile":   {files: map[string]string{briefFile: `[{"id":"` + id + `","names":["web","web"]}]`}, want: []string{"web"}},
		"kubernetes": {files: map[string]string{"var/log/containers/web-1_shop_app-" + id + ".log": "", "var/log/pods/shop_web-1_" + uid + "/app/0.log": ""}, want: []string{"app"}, pod: "shop/web-1"},
		"others":     {files: map[string]string{"var/log/containers/web-1_shop_app-0" + id[1:] + ".log": "", "var/log/pods/shop_web-1_x/app/0.log": "", "var/log/pods/odd/": ""}},
		"bad JSON":   {files: map[string]string{dockerFile: "{", storageFile: `{"id":1}`}},
		"huge":       {files: map[string]string{dockerFile: `{"Name":"/web"}` + strings.Repeat(" ", 9<<20)}},
		"long name":  {files: map[string]string{dockerFile: `{"Name":"/` + strings.Repeat("x", 1<<10) + `"}`}},
		"directory":  {files: map[string]string{dockerFile + "/": ""}},
		"many names": {files: map[string]string{storageFile: `[{"id":"` + id + `","names":[` + strings.TrimSuffix(strings.Repeat(`"a",`, 1000), ",") + `,"b"]}]`}, want: []string{"a"}},
	} {
		n := files(t, c.files)
		if got := n.Container(id); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: names %q, want %q", name, got, c.want)
		}
		if got := n.Pod(uid); got != c.pod {
			t.Errorf("%s: pod %q, want %q", name, got, c.pod)
		}
	}
}

// TestNamesHostile checks that what is no file of a runtime is neither waited for nor followed.
func TestNamesHostile(t *testing.T) {
	n := files(t, map[string]string{filepath.Dir(dockerFile) + "/": ""})
	if err := syscall.Mkfifo(filepath.Join(n.Root, dockerFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id, "../../../../etc/passwd", "", strings.ToUpper(id)} {
		if got := n.Container(name); len(got) > 0 {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestSelector(t *testing.T) {
	n := files(t, map[string]string{dockerFile: `{"Name":"/web"}`, "var/log/pods/shop_web-1_" + uid + "/app/0.log": ""})
	docker, pod := "/system.slice/docker-"+id+".scope", "/kubepods/pod"+uid
	for _, c := range []struct {
		s             container.Selector
		group         string
		match, unsure bool
	}{
		{container.Selector{Container: "web"}, docker, true, false},
		{container.Selector{Container: "w*"}, docker + "/below", true, false},
		{container.Selector{Container: "db"}, docker, false, false},
		{container.Selector{Container: id[:12]}, docker, true, false},
		{container.Selector{Container: id}, docker, true, false},
		{container.Selector{Container: id[:11]}, docker, false, false},
		{container.Selector{Container: "web"}, strings.Replace(docker, id[:2], "00", 1), false, true},
		{container.Selector{Container: "web"}, "/system.slice", false, false},
		{container.Selector{Container: "web-1"}, `/machine.slice/machine-web\x2d1.scope`, true, false},
		{container.Selector{Pod: "shop/web-1"}, pod, true, false},
		{container.Selector{Pod: "*/web-?"}, pod + "/" + id, true, false},
		{container.Selector{Pod: uid}, pod, true, false},
		{container.Selector{Pod: "shop/db"}, pod, false, false},
		{container.Selector{Pod: "shop/db"}, strings.Replace(pod, uid[:2], "aa", 1), false, true},
		{container.Selector{Pod: "shop/web-1"}, docker, false, false},
		{container.Selector{Pod: "shop/web-1", Container: id}, pod + "/" + id, true, false},
		{container.Selector{Pod: "shop/web-1", Container: id}, pod, false, false},
		{container.Selector{Glob: "system.slice/*"}, docker, true, false},
		{container.Selector{Glob: "/system.slice/*"}, "/system.slice", false, false},
		{container.Selector{Glob: "system.slice/*", Container: "db"}, docker, false, false},
	} {
		if match, unsure := c.s.Match(c.group, n); match != c.match || unsure != c.unsure {
			t.Errorf("%+v %s: %v, %v, want %v, %v", c.s, c.group, match, unsure, c.match, c.unsure)
		}
		if c.match && !c.s.Within(c.group+"/more", n) {
			t.Errorf("%+v: below %s nothing is selected", c.s, c.group)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/docker/" + id)
	f.Add("/kubepods/pod" + uid + "/" + id)
	f.Add("/a-pod" + uid + ".slice:cri-containerd:" + id)
	f.Fuzz(func(t *testing.T, path string) {
		of := container.Parse(path)
		if of.ID != "" && of.Runtime != "systemd-nspawn" && !strings.Contains(path, of.ID) {
			t.Error(fmt.Errorf("%q: %+v", path, of))
		}
	})
}
