package debian

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestMirror finds a mirror in both formats of apt's sources, and none in sources
// of other archives and suites.
func TestMirror(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		needs.Skip(t, "needs apt-get: %v", err)
	}
	name, err := codename()
	if err != nil {
		needs.Skip(t, "needs Debian: %v", err)
	}
	const list, deb822 = "sources.list", "sources.list.d/x.sources"
	mirrors := filepath.Join(t.TempDir(), "mirrors")
	if err := os.WriteFile(mirrors, []byte("# ours\nhttp://listed.test/debian/\tpriority:1\nhttp://other.test/debian\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct{ file, text, want string }{
		"sources.list": {list, "deb http://one.test/x NAME-security main\ndeb http://two.test/debian/ NAME main contrib\n", "http://two.test/debian"},
		"options":      {list, "deb [arch=amd64,arm64 trusted=yes] https://two.test/debian NAME main\n", "https://two.test/debian"},
		"a suite":      {list, "deb http://two.test/debian stable main\n", "http://two.test/debian"},
		"deb822":       {deb822, "Types: deb deb-src\nURIs: http://three.test/debian\nSuites: NAME NAME-updates\nComponents: main\n", "http://three.test/debian"},
		"a list":       {deb822, "Types: deb\nURIs: mirror+file:" + mirrors + "\nSuites: NAME\nComponents: main\n", "http://listed.test/debian"},
		"disabled":     {deb822, "Enabled: no\nTypes: deb\nURIs: http://three.test/debian\nSuites: NAME\nComponents: main\n", ""},
		"others":       {list, "deb http://tools.test/apt sdk-NAME main\ndeb http://node.test nodistro main\n", ""},
		"none":         {list, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, tt.file)
			if err := os.MkdirAll(filepath.Join(dir, "sources.list.d"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(tt.text, "NAME", name)), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := mirrorOf([]string{
				"-o", "Dir::Etc::sourcelist=" + filepath.Join(dir, list), "-o", "Dir::Etc::sourceparts=" + filepath.Join(dir, "sources.list.d"),
			})
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("mirror %q, error %v, want %q", got, err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), "DEBIAN_MIRROR") {
				t.Errorf("error %q does not say what helps", err)
			}
		})
	}
	t.Setenv("DEBIAN_MIRROR", "http://mine.test/debian")
	if got, err := Mirror(); got != "http://mine.test/debian" || err != nil {
		t.Errorf("mirror %q, error %v, want that of the environment", got, err)
	}
}

// TestSourceNamesNoMirror checks that this module names no hosts of Debian's
// archive: machines configure them.
func TestSourceNamesNoMirror(t *testing.T) {
	hosts := []string{"deb." + "debian.org", "ftp." + "debian.org", "snapshot." + "debian.org"}
	args := []string{"-C", "../../..", "grep", "-n", "-I", "-F"}
	for _, host := range hosts {
		args = append(args, "-e", host)
	}
	out, err := exec.Command("git", args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: nothing found
		needs.Skip(t, "needs git and a checkout: %v\n%s", err, out)
	}
	if len(out) > 0 {
		t.Errorf("names hosts of Debian's archive:\n%s", out)
	}
}
