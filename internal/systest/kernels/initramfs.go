package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
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
	{Package: "internal/ring"},
	{Package: "internal/rendezvous"},
	{Package: "attach/internal/shield"},
	{Package: "attach/internal/codegen"},
	{Package: "attach/internal/link"},
	{Package: "attach/internal/load"},
	{Package: "attach/internal/process"},
	{Package: "attach/internal/clock"},
	{Package: "attach/internal/maplog"},
	{Package: "attach/internal/overlay"},
	{Package: "attach/internal/naming"},
	{Package: "provider"},
	{Package: "reader"},
	{Package: "attach"},
	{Package: "attach/collection"},
	{Package: "cmd/sdttrace"},
	// An ordinary user traces through shared memory. The last level is for good.
	underYama("0"),
	underYama("1"),
	underYama("2"),
	underYama("3"),
}

// underYama returns the suite that runs with kernel.yama.ptrace_scope at a level.
func underYama(level string) report.Suite {
	return report.Suite{Package: "attach", Yama: level, Args: []string{"-test.run=^TestLocalUnprivileged$"}}
}

// suiteFlags are for every suite.
var suiteFlags = []string{"-test.v=test2json", "-test.short"}

// allTests matches the tests that run, without benchmarks and fuzz tests.
const allTests = "^(Test|Example)"

// build builds init and the test binaries in dir.
func build(dir, arch string) error {
	if err := goTool(arch, "build", "-o", dir+"/", module+"internal/systest/kernels/init"); err != nil {
		return err
	}
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", dir + "/"} // as go test links what it runs; make check vets
	for _, s := range suites {
		if pkg := module + s.Package; !slices.Contains(args, pkg) {
			args = append(args, pkg)
		}
	}
	return goTool(arch, args...)
}

// goTool runs the go command for an architecture, without cgo: what it builds
// is linked statically. Compilers collect less garbage, as TOOLS in the Makefile has it.
func goTool(arch string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOGC=400")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// writeInitramfs writes the first file system of a machine: init, which stands
// for compilers as well, the test binaries with their data below src, and other
// files that they expect. bin is the directory in which build has built.
func writeInitramfs(name, bin string, k kernel, files kernelFiles) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	w := newCPIO(b)
	// init's standard streams, before it mounts anything.
	if err := w.device("dev/console", 0o600, 5, 1); err != nil {
		return err
	}
	copies := map[string]string{
		"init":                         filepath.Join(bin, "init"),
		"bin/busybox":                  files.busybox(),
		"boot/config-" + files.release: files.config(),
		"boot/loop.ko":                 files.loop(),
		// Its presence says that the host can compile for BPF.
		"usr/include/bpf/usdt.bpf.h": "/usr/include/bpf/usdt.bpf.h",
	}
	copies["boot/disk"] = name + "-disk"
	if err := writeDisk(copies["boot/disk"]); err != nil {
		return err
	}
	maps.Copy(copies, toolchains[k.arch].libs)
	if k.arch == runtime.GOARCH {
		more, err := toolFiles()
		if err != nil {
			return err
		}
		maps.Copy(copies, more)
	}
	// Documents that tests compare with.
	docs, err := filepath.Glob("*.md")
	if err != nil {
		return err
	}
	more, err := filepath.Glob("docs/*.md")
	if err != nil {
		return err
	}
	pages, err := filepath.Glob("man/*")
	if err != nil {
		return err
	}
	for _, doc := range slices.Concat(docs, more, pages) {
		copies["src/"+doc] = doc
	}
	all := k.suites()
	for _, s := range all {
		dir := path.Join("src", s.Package)
		if copies[dir+"/test"] != "" {
			continue // the package has another suite
		}
		copies[dir+"/test"] = filepath.Join(bin, path.Base(s.Package)+".test")
		if err := w.copyTree(dir+"/testdata", filepath.Join(filepath.FromSlash(s.Package), "testdata")); err != nil {
			return err
		}
	}
	for name, from := range copies {
		if err := w.copyFile(name, from, 0o755); err != nil {
			return err
		}
	}
	for command := range toolchains[k.arch].commands {
		if err := w.symlink("bin/"+command, "/init"); err != nil {
			return err
		}
	}
	// Scripts name it in their first line.
	if err := w.symlink("usr/bin/env", "/bin/busybox"); err != nil {
		return err
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := w.file("suites.json", 0o644, data); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// writeDisk writes a small disk with the file system ext4, for tests that mount it.
func writeDisk(path string) error {
	if out, err := exec.Command("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", path, "1M").CombinedOutput(); err != nil {
		return fmt.Errorf("mke2fs: %w\n%s", err, out)
	}
	return nil
}

func (c *cpioWriter) copyFile(name, from string, perm fs.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return c.file(name, perm, data)
}

// copyTree adds the files of the directory at from, if there is one, to name.
func (c *cpioWriter) copyTree(name, from string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == from && os.IsNotExist(err) {
				return nil
			}
			return err
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		return c.copyFile(path.Join(name, filepath.ToSlash(rel)), p, 0o644)
	})
}
