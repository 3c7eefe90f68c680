package cgroups_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/systest/leftover"
)

// TestName checks what is known of groups that are made, and what is decided of them: also once a
// file names them, and after they are gone.
func TestName(t *testing.T) {
	before := leftover.Descriptors(t)
	t.Cleanup(func() { leftover.Back(t, before) })
	dir, group := place(t)
	names := container.Names{Root: t.TempDir()}
	is := func(text string) func(string) bool { return func(s string) bool { return s == text } }
	live, err := cgroups.Name(names, []cgroups.Test{{Word: container.ContainerWord, Holds: is("web")}, {Word: container.PodWord, Holds: is("")}})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	id := strings.Repeat("0a", 32)
	scope := mkdir(t, dir+"/docker-"+id+".scope")
	below := mkdir(t, dir+"/docker-"+id+".scope/init.scope")
	other := mkdir(t, dir+"/ssh.service")
	check := func(id uint64, want container.Group, verdict uint64) {
		t.Helper()
		if err := live.Refresh(); err != nil {
			t.Fatal(err)
		}
		var bits uint64
		err := live.Verdicts().Lookup(id, &bits)
		if g, known := live.Table.Of(id); !known || g != want || err != nil || bits != verdict {
			t.Errorf("%+v, known: %v, verdict %b, error %v, want %+v and %b", g, known, bits, err, want, verdict)
		}
	}
	path := group + "/docker-" + id + ".scope"
	check(scope, container.Group{Path: path, Container: id[:12]}, 2)
	check(below, container.Group{Path: path + "/init.scope", Container: id[:12]}, 2)
	check(other, container.Group{Path: group + "/ssh.service"}, 2)
	if live.Table.Same(below, container.ContainerWord) != live.Table.Same(scope, container.ContainerWord) || live.Table.Same(below, container.PathWord) == live.Table.Same(scope, container.PathWord) {
		t.Error("two groups of a container are two containers, or one path")
	}
	config := filepath.Join(names.Root, "/var/lib/docker/containers", id)
	if err := os.MkdirAll(config, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config+"/config.v2.json", []byte(`{"Name":"/web"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	// Files are asked again without anybody's asking.
	for deadline := time.Now().Add(time.Minute); live.Table.Text(scope, container.ContainerWord) != "web"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a container whose name was written later has none")
		}
	}
	check(scope, container.Group{Path: path, Container: "web"}, 3)
	check(below, container.Group{Path: path + "/init.scope", Container: "web"}, 3)
	if err := os.RemoveAll(config); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"/init.scope", ""} {
		if err := os.Remove(dir + "/docker-" + id + ".scope" + gone); err != nil {
			t.Fatal(err)
		}
	}
	if err := live.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := live.Table.Text(scope, container.ContainerWord); got != "web" {
		t.Errorf("a container that has ended is %q, want the name that it had", got)
	}
	var bits uint64
	if err := live.Verdicts().Lookup(scope, &bits); err == nil {
		t.Error("what was decided of a group that is gone is kept")
	}
	live.Close()
	if err := live.Refresh(); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

// TestTable checks what stands for groups that nobody knows.
func TestTable(t *testing.T) {
	var none *cgroups.Table
	for _, table := range []*cgroups.Table{none, cgroups.NewTable()} {
		if got := table.Text(7, container.PathWord); got != "[id 7]" {
			t.Errorf("the path of an unknown group is %q", got)
		}
		if got := table.Text(7, container.ContainerWord); got != "" {
			t.Errorf("the container of an unknown group is %q", got)
		}
	}
	table := cgroups.NewTable()
	if table.Same(7, container.PathWord) != 7 || table.Same(8, container.PathWord) != 8 {
		t.Error("unknown groups are taken for others")
	}
	table.Put(7, container.Group{Path: "/a", Container: "web"})
	table.Put(8, container.Group{Path: "/b", Container: "web"})
	if a, b := table.Same(7, container.ContainerWord), table.Same(8, container.ContainerWord); a != b {
		t.Errorf("one container is %d and %d", a, b)
	}
	table.Put(8, container.Group{Path: "/b", Container: "db"})
	if a, b := table.Same(7, container.ContainerWord), table.Same(8, container.ContainerWord); a == b {
		t.Errorf("two containers are %d", a)
	}
}
