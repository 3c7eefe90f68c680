package interop_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// systemtapRows use SystemTap, which lists probes; running its scripts takes
// the running kernel's own headers and a module.
func systemtapRows() []row {
	return []row{
		{
			name: "`stap -L`", packages: []string{"systemtap"}, needs: []string{"stap", "unshare"},
			want: func(s shape) string { return fmt.Sprint(s.args) },
			use: func(t *testing.T, p *process) (map[string]string, string) {
				out, err := withHeaders(t, "timeout", atMost, "stap", "-L", fmt.Sprintf("process(%q).provider(%q).mark(\"*\")", p.path, p.provider)).CombinedOutput()
				if err != nil {
					t.Logf("stap: %v", err)
				}
				got := matches(`(?m)^process.*\.mark\("(\w+)"\)(.*)$`, string(out))
				for name, args := range got {
					got[name] = fmt.Sprint(len(regexp.MustCompile(`\$arg\d+:long`).FindAllString(args, -1)))
				}
				return got, string(out)
			},
		},
	}
}

// withHeaders makes a command run where the kernel's headers seem to be
// installed. If the running kernel has none, the headers of Debian's kernel take
// their place.
func withHeaders(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	const modules = "/lib/modules"
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(modules, unix.ByteSliceToString(uname.Release[:]))
	if own, _ := filepath.Glob(here + "/build/include"); len(own) > 0 {
		return exec.CommandContext(t.Context(), name, args...)
	}
	build, _ := filepath.Glob("/usr/src/linux-headers-*-amd64")
	source, _ := filepath.Glob("/usr/src/linux-headers-*-common")
	if len(build) == 0 || len(source) == 0 {
		needs.Skip(t, "needs the headers of a kernel, package linux-headers-amd64")
	}
	const script = `set -e; here=$1 build=$2 source=$3; shift 3
		mount -t tmpfs none /lib/modules; mkdir -p $here; ln -s $build $here/build; ln -s $source $here/source; exec "$@"`
	return exec.CommandContext(t.Context(), "unshare", append([]string{"-m", "sh", "-c", script, "sh", here, build[0], source[0], name}, args...)...)
}
