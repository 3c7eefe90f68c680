package supply_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// anyHost are the packages that build on other systems than Linux: the packages that
// read and write files, provider, whose probes do nothing there, and providertest, which
// records them there.
var anyHost = []string{"notes", "elfgen", "internal/safeelf", "internal/procfs", "reader", "event", "event/args", "total", "provider", "provider/providertest", "internal/sdtdump"}

// TestOtherSystems builds these packages for macOS and Windows, all at once for
// each: the standard library also has to be compiled.
func TestOtherSystems(t *testing.T) {
	needs.Tools(t, "go")
	var packages []string
	for _, pkg := range anyHost {
		packages = append(packages, "github.com/go-usdt/usdt/"+pkg)
	}
	for _, system := range []string{"darwin/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			cmd := exec.CommandContext(t.Context(), "go", append([]string{"build"}, packages...)...)
			cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
