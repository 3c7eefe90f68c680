package targets_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// enter makes a root file system in a mount namespace of its own, and runs a command
// there: the machine's programs, /proc, and no /sys.
const enter = `set -e
root=$1/root; mkdir -p $root; shift
mount -t tmpfs -o mode=755 rootfs $root
mkdir -p $root/usr $root/proc $root/dev $root/tmp $root/app; chmod 1777 $root/tmp $root/app
mount --rbind -o ro /usr $root/usr
for d in bin sbin lib lib64; do ln -s usr/$d $root/$d; done
mount -t proc proc $root/proc
: > $root/dev/null; mount --bind /dev/null $root/dev/null
cp $root/../sdttrace $root/../myapp $root/app
cd $root/app
exec chroot $root "$@"
`

// TestReadmeUser runs the documented commands for users without privileges and those of the
// flight recorder in fresh containers: other mount, PID, network, IPC and UTS namespaces,
// a root file system without tracefs, and no capability that counts. The output
// of each is like what its page shows of it.
func TestReadmeUser(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "unshare", "setpriv", "mkfifo", "chroot", "mount", "timeout")
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	needs.Run(t, "go", "build", "-o", dir, "./testdata/myapp")
	if err := os.Rename(needs.Build(t, "cmd/sdttrace"), filepath.Join(dir, "sdttrace")); err != nil {
		t.Fatal(err)
	}
	script, shown := userScript(t)
	container := []string{"unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"}
	unable := []string{"setpriv", "--inh-caps=-all", "--bounding-set=-all"}
	nobody := []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}
	inside := []string{"sh", "-c", enter, "enter", dir}
	for _, test := range []struct {
		name string
		args [][]string
	}{
		{"user without capabilities", [][]string{container, inside, unable, nobody[1:]}},
		{"root without capabilities", [][]string{container, inside, unable}},
		{"root in a user namespace", [][]string{nobody, container, {"--user", "--map-root-user"}, inside}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var args []string
			for _, part := range test.args {
				args = append(args, part...)
			}
			cmd := exec.Command(args[0], append(args[1:], "sh", "-c", script)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v:\n%s", err, &out)
			}
			parts := strings.Split(out.String(), "\n## ")
			if len(parts) != len(shown)+1 {
				t.Fatalf("%d commands, want %d:\n%s", len(parts)-1, len(shown), &out)
			}
			for i, want := range shown {
				for _, line := range want.lines {
					if !like(line).MatchString(parts[i+1]) {
						t.Errorf("%s\nprints no line like\n%s\nbut\n%s", want.command, line, parts[i+1])
					}
				}
			}
			if lost := regexp.MustCompile(`[1-9]\d* lost`).FindString(out.String()); lost != "" {
				t.Errorf("%s:\n%s", lost, &out)
			}
		})
	}
}

// command is a command of a page, and the lines that the page shows of its output.
type command struct {
	command string
	lines   []string
}

// userScript returns a script with the commands of both pages, which introduces the output of
// each by a line, and what the pages show of it.
func userScript(t *testing.T) (script string, shown []command) {
	t.Helper()
	// myapp answers lines: it gets them as long as a command runs.
	script = `cd /app; PATH=/app:$PATH; umask 077
# Also open for reading: so the writer outlives a service that is killed.
mkfifo in; exec 3<>in; (while :; do echo request; sleep 0.02; done) >&3 & requests=$!
`
	for _, path := range []string{unprivileged, recording} {
		for line := range strings.Lines(document(t, path)) {
			line = strings.TrimRight(line, "\n")
			text, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case isCommand:
				text, _, _ = strings.Cut(text, "    #")
				shown = append(shown, command{command: text})
				text = strings.ReplaceAll(text, "4711", "$service")
				switch before, starts := strings.CutSuffix(text, " ./myapp &"); {
				case starts:
					script += "[ -z $service ] || kill $service\n"
					// It has fired each probe a few times by then.
					script += "echo '\n## '; " + before + " ./myapp <&3 >out$service. & service=$!\n"
					script += "until [ $(grep -c done out*.) -gt 10 ]; do sleep 0.01; done; rm out*.\n"
				case strings.HasPrefix(text, "kill"):
					script += "echo '\n## '; " + text + "; wait $service 2>/dev/null\n"
				default:
					script += "echo '\n## '; timeout 60 " + text + " 2>&1\n"
				}
			case len(shown) > 0 && isOutput(line):
				last := &shown[len(shown)-1]
				last.lines = append(last.lines, line)
			}
		}
	}
	if len(shown) < 8 {
		t.Fatalf("the pages have %d commands", len(shown))
	}
	return script + "kill $requests\n", shown
}

// isOutput reports whether a line of a page is what a command prints, and not text.
func isOutput(line string) bool {
	return regexp.MustCompile(`^(sdttrace: |\d\d:\d\d:\d\d\.|[> ] |\{|snapshot )`).MatchString(line)
}

var (
	number = regexp.MustCompile(`-?\d[\d.]*(ns|µs|ms)?`)
	space  = regexp.MustCompile(` +`)
	unread = regexp.MustCompile(`, \d+ unread`)
	hashes = regexp.MustCompile(`#+`)
)

// like returns what matches a line that differs from this one in its numbers only, one of
// which may be missing: that of events which were not read any more.
func like(line string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(unread.ReplaceAllString(line, ""))
	quoted = strings.ReplaceAll(quoted, `\.`, ".")
	quoted = number.ReplaceAllString(quoted, `-?[\d.]+(ns|µs|ms|s)?`)
	quoted = space.ReplaceAllString(quoted, " +")
	quoted = strings.ReplaceAll(quoted, " +filtered;", ` +filtered(, \d+ unread)?;`)
	return regexp.MustCompile(`(?m)^` + hashes.ReplaceAllString(quoted, "#*"))
}
