package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-usdt/usdt/internal/kernels/report"
)

// module is the prefix of import paths.
const module = "github.com/go-usdt/usdt/"

// suites are the test binaries that run on each machine, the quick ones first.
var suites = []report.Suite{
	{Package: "notes"},
	{Package: "elfgen"},
	{Package: "internal/stub"},
	{Package: "internal/sys"},
	{Package: "internal/procfs"},
	{Package: "provider"},
	{Package: "reader"},
	{Package: "attach"},
	{Package: "cmd/sdttrace"},
}

// suiteFlags are for every suite. A suite that hangs says where.
var suiteFlags = []string{"-test.v=test2json", "-test.short", "-test.run=^(Test|Example)", "-test.timeout=3m"}

// initramfs writes the first file system of a machine to dir and returns its
// path: init, and below src the test binaries with their data.
func initramfs(dir, arch string) (string, error) {
	bin := filepath.Join(dir, "bin") + "/"
	if err := goTool(arch, "build", "-trimpath", "-o", bin, module+"internal/kernels/init"); err != nil {
		return "", err
	}
	args := []string{"test", "-c", "-o", bin}
	for _, s := range suites {
		args = append(args, module+s.Package)
	}
	if err := goTool(arch, args...); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "initramfs")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	if err := writeInitramfs(&cpioWriter{w: b}, bin); err != nil {
		return "", err
	}
	if err := b.Flush(); err != nil {
		return "", err
	}
	return name, f.Close()
}

// goTool runs the go command for an architecture, without cgo: what it builds
// is linked statically.
func goTool(arch string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func writeInitramfs(w *cpioWriter, bin string) error {
	if err := w.dir("dev", 0o755); err != nil {
		return err
	}
	// init's standard streams, before it mounts anything.
	if err := w.device("dev/console", 0o600, 5, 1); err != nil {
		return err
	}
	if err := w.copyFile("init", filepath.Join(bin, "init"), 0o755); err != nil {
		return err
	}
	made := map[string]bool{}
	if err := w.parents("src", made); err != nil {
		return err
	}
	// Documents that tests compare with.
	docs, err := filepath.Glob("*.md")
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if err := w.copyFile("src/"+doc, doc, 0o644); err != nil {
			return err
		}
	}
	var all []report.Suite
	for _, s := range suites {
		dir := path.Join("src", s.Package)
		if err := w.parents(dir, made); err != nil {
			return err
		}
		if err := w.copyFile(dir+"/test", filepath.Join(bin, path.Base(s.Package)+".test"), 0o755); err != nil {
			return err
		}
		if err := w.copyTree(dir+"/testdata", filepath.Join(filepath.FromSlash(s.Package), "testdata")); err != nil {
			return err
		}
		s.Args = append(s.Args, suiteFlags...)
		all = append(all, s)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := w.file("suites.json", 0o644, data); err != nil {
		return err
	}
	return w.close()
}

// parents adds a directory and those above it that made does not have.
func (c *cpioWriter) parents(dir string, made map[string]bool) error {
	if dir == "." || made[dir] {
		return nil
	}
	if err := c.parents(path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return c.dir(dir, 0o755)
}

func (c *cpioWriter) copyFile(name, from string, perm fs.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return c.file(name, perm, data)
}

// copyTree adds the directory at from, if there is one, as name.
func (c *cpioWriter) copyTree(name, from string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == from && os.IsNotExist(err) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(rel))
		if d.IsDir() {
			return c.dir(to, 0o755)
		}
		return c.copyFile(to, p, 0o644)
	})
}
