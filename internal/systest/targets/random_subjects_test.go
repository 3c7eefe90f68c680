package targets_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// subjects are the files whose functions are traced, and what uses them.
var subjects = []struct {
	name    string
	prepare func(*trial)
}{
	{"libc", func(tr *trial) { tr.library("libc.so.6", "libc.c") }},
	{"libm", func(tr *trial) { tr.library("libm.so.6", "libm.c", "-lm") }},
	{"libcrypto", func(tr *trial) { tr.library("libcrypto.so.3", "libcrypto.c", "-lcrypto") }},
	{"node", func(tr *trial) {
		needs.Tools(tr.t, "node")
		node, err := exec.LookPath("node")
		if err != nil {
			tr.t.Fatal(err)
		}
		tr.path = copied(tr.t, node, tr.dir)
		tr.command = "exec " + tr.path + " " + tr.program("node.js") + " ."
		tr.force = "copies code to anonymous memory" // with options that are not used here
	}},
	{"postgres", (*trial).postgres},
}

// program returns the path of a file of testdata.
func (tr *trial) program(name string) string {
	tr.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata/random", name))
	if err != nil {
		tr.t.Fatal(err)
	}
	return path
}

// library traces a copy of a library, which a program in C loads in place of the machine's.
func (tr *trial) library(name, source string, flags ...string) {
	tr.t.Helper()
	needs.Tools(tr.t, "gcc", "ldd")
	program := filepath.Join(tr.dir, strings.TrimSuffix(source, ".c"))
	needs.Run(tr.t, "gcc", append([]string{"-O1", "-w", "-fno-builtin", "-o", program, tr.program(source)}, flags...)...)
	for field := range strings.FieldsSeq(needs.Run(tr.t, "ldd", program)) {
		if filepath.Base(field) == name && filepath.IsAbs(field) {
			tr.path = copied(tr.t, field, tr.dir)
		}
	}
	if tr.path == "" {
		tr.t.Fatalf("%s is not linked with %s", source, name)
	}
	tr.command = "LD_LIBRARY_PATH=$DIR exec " + program
}

// postgres traces a copy of PostgreSQL, which executes SQL in a new database each time.
func (tr *trial) postgres() {
	tr.t.Helper()
	needs.Tools(tr.t, "setpriv")
	server := findServer(tr.t)
	account := findAccount(tr.t, "postgres", "nobody")
	tr.path = copied(tr.t, server, tr.dir)
	for d := tr.dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			tr.t.Fatal(err)
		}
	}
	data := filepath.Join(tr.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Chown(data, account.uid, account.gid); err != nil {
		tr.t.Fatal(err)
	}
	if out, err := account.command(filepath.Join(filepath.Dir(server), "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync").CombinedOutput(); err != nil {
		tr.t.Fatalf("initdb: %v\n%s", err, out)
	}
	tr.user = []string{"setpriv", "--reuid", fmt.Sprint(account.uid), "--regid", fmt.Sprint(account.gid), "--clear-groups"}
	sql, err := os.ReadFile(tr.program("postgres.sql"))
	if err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tr.dir, "sql"), sql, 0o644); err != nil {
		tr.t.Fatal(err)
	}
	tr.command = "cp -a $DIR/data . && exec " + tr.path + " --single -F -D data -c log_line_prefix= -c log_checkpoints=off postgres <$DIR/sql"
}

// firstDifference returns the first line that differs, with the lines before it, "" if
// there is none.
func firstDifference(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	a, b := strings.SplitAfter(string(want), "\n"), strings.SplitAfter(string(got), "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	some := func(lines []string) string { return strings.Join(lines[min(i, len(lines)):min(i+6, len(lines))], "") }
	return fmt.Sprintf("line %d is\n%s\nwithout probes\n%s", i+1, some(b), some(a))
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}
