package interop_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// debianProgram is a program of Debian with probes.
type debianProgram struct {
	name     string
	packages []string       // to install, to trace the program
	files    map[string]int // and their sites; stored in internal/sdtdump/testdata

	// command runs the program, and makes it fire once for each line that it
	// reads.
	command  []string
	env      []string
	selector string
	texts    []string // the arguments that are strings
	event    string   // its name and arguments; * is any
	bare     bool     // it has no semaphores

	elsewhere string // the test in internal/systest/targets that traces it
	limits    map[string]limit
}

func debianPrograms(in release) []debianProgram {
	const lib = "usr/lib/x86_64-linux-gnu/"
	postgres, jvm, python, ruby, php, libvirt, cxx := debianProgram{
		name: "PostgreSQL", packages: []string{"postgresql-15"}, files: map[string]int{"usr/lib/postgresql/15/bin/postgres": 71}, elsewhere: "TestPostgres",
	}, debianProgram{
		name: "OpenJDK", packages: []string{"openjdk-17-jre-headless"},
		files: map[string]int{"usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so": 531}, elsewhere: "TestJVM", bare: true,
	}, debianProgram{
		name: "Python", packages: []string{"python3.11-minimal"},
		files:    map[string]int{"usr/bin/python3.11": 8, lib + "libpython3.11.so.1.0": 8},
		command:  []string{"/usr/bin/python3.11", "-c", "import sys\ndef f(): pass\nprint('ready', flush=True)\nfor line in sys.stdin: f()"},
		selector: "python:function__return", texts: []string{"arg0", "arg1"}, event: "function__return <string> f 2",
	}, debianProgram{
		name: "Ruby", packages: []string{"libruby3.1"}, files: map[string]int{lib + "libruby-3.1.so.3.1.2": 40},
		command:  []string{"/usr/bin/ruby", "-e", "$stdout.sync = true; puts 'ready'; while gets; [2, 1].sort; end"},
		selector: "ruby:cmethod__entry", texts: []string{"arg0", "arg1", "arg2"}, event: "cmethod__entry Array sort -e 1",
	}, debianProgram{
		name: "PHP", packages: []string{"php8.2-cli"}, files: map[string]int{"usr/bin/php8.2": 14},
		command: []string{"/usr/bin/php8.2", "-r", `function f() {} echo "ready\n"; while (fgets(STDIN)) f();`}, env: []string{"USE_ZEND_DTRACE=1"},
		selector: "php:function__entry", texts: []string{"arg0", "arg3"}, event: "function__entry f * 1  *",
	}, debianProgram{
		name: "libvirt", packages: []string{"libvirt0"}, files: map[string]int{
			lib + "libvirt.so.0.9000.0": 41, lib + "libvirt/connection-driver/libvirt_driver_qemu.so": 8, "usr/sbin/libvirtd": 9,
		},
		// The hypervisor of the library's own tests, which needs no daemon.
		command: []string{"/usr/bin/python3", "-c", "import libvirt, sys\nc = libvirt.open('test:///default')\n" +
			"print('ready', flush=True)\nfor line in sys.stdin: c.listAllDomains()"},
		selector: "libvirt:object_new", texts: []string{"arg1"}, event: "object_new * virDomain",
	}, debianProgram{
		name: "libstdc++", packages: []string{"libstdc++6"}, files: map[string]int{lib + "libstdc++.so.6.0.30": 3},
		command: []string{"testdata/throw.cc"}, selector: "libstdcxx:throw", event: "throw * *", bare: true,
	}
	if in >= trixie {
		postgres.packages, postgres.files = []string{"postgresql-17"}, map[string]int{"usr/lib/postgresql/17/bin/postgres": 80}
		jvm.packages, jvm.files = []string{"openjdk-21-jre-headless"}, map[string]int{"usr/lib/jvm/java-21-openjdk-amd64/lib/server/libjvm.so": 530}
		python.packages, python.files = []string{"python3.13-minimal"}, map[string]int{"usr/bin/python3.13": 5}
		python.command = []string{"/usr/bin/python3.13", "-c", "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: sys.audit('poked')"}
		python.selector, python.texts, python.event = "python:audit", []string{"arg0"}, "audit poked *"
		ruby = debianProgram{name: ruby.name, packages: []string{"libruby3.3"}, files: map[string]int{lib + "libruby-3.3.so.3.3.8": 0}}
		php = debianProgram{name: php.name, packages: []string{"php8.4-cli"}, files: map[string]int{"usr/bin/php8.4": 0}}
		libvirt.files = map[string]int{lib + "libvirt.so.0.11003.0": 41}
		cxx.files = map[string]int{lib + "libstdc++.so.6.0.33": 3}
	}
	return []debianProgram{postgres, jvm, python, ruby, php, libvirt, cxx}
}

// sites returns the number of sites that the program's files have.
func (p debianProgram) sites() (n int) {
	for _, sites := range p.files {
		n += sites
	}
	return n
}

func debian(in release) []row {
	var rows []row
	for _, p := range debianPrograms(in) {
		checks := map[string]func(*testing.T){"read": func(t *testing.T) {
			for name, sites := range p.files {
				checkRead(t, debianFile(t, name), sites)
			}
		}}
		if p.sites() == 0 {
			p.limits = map[string]limit{"read": {mark: none, why: "is built without probes"}}
		}
		if p.command != nil {
			checks["traced"] = p.checkTraced
			if !p.bare {
				checks["semaphore"] = p.checkSemaphore
			}
		}
		if p.elsewhere != "" {
			checks["traced"] = p.checkElsewhere
			there := limit{mark: "yes", why: "held by the tests in [internal/systest/targets](internal/systest/targets)"}
			p.limits = map[string]limit{"traced": there}
			if !p.bare {
				checks["semaphore"], p.limits["semaphore"] = p.checkElsewhere, there
			}
		}
		rows = append(rows, row{name: p.name, packages: p.packages, needs: []string{"readelf"}, checks: checks, limits: p.limits})
	}
	return rows
}

// start starts the program; poke makes it fire.
func (p debianProgram) start(t *testing.T) (pid int, poke func()) {
	t.Helper()
	command := p.command
	if strings.HasSuffix(command[0], ".cc") {
		need(t, "g++")
		exe := filepath.Join(t.TempDir(), "program")
		if out, err := exec.Command("g++", "-O2", command[0], "-o", exe).CombinedOutput(); err != nil {
			t.Fatalf("g++ %s: %v\n%s", command[0], err, out)
		}
		command = []string{exe}
	}
	need(t, command[0])
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	program := tracee.StartVictim(t, cmd).Ready()
	return program.PID(), func() { program.Send("") }
}

func (p debianProgram) checkTraced(t *testing.T) {
	pid, poke := p.start(t)
	s, err := attach.Open(soon(t), []string{p.selector}, &attach.Options{Target: attach.Target{PIDs: []int{pid}}, Strings: p.texts})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	poke()
	want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(p.event), `\*`, `\S+`) + "$")
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if got := ev.Name + " " + printed(ev.Args); want.MatchString(got) {
			return
		} else {
			t.Log(got)
		}
	}
	t.Errorf("no event %q", p.event)
}

func (p debianProgram) checkSemaphore(t *testing.T) {
	pid, _ := p.start(t)
	checkRaised(t, pid, p.selector)
}

// checkElsewhere checks that the program's test exists.
func (p debianProgram) checkElsewhere(t *testing.T) {
	paths, err := filepath.Glob("../targets/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(source, []byte("\nfunc "+p.elsewhere+"(t *testing.T)")) {
			return
		}
	}
	t.Errorf("internal/systest/targets has no %s", p.elsewhere)
}
