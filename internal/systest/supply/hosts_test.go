package supply_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// anyHost are the packages that build, with their tests, on other systems than
// Linux: those that read and write files, and provider, whose probes do nothing
// there.
var anyHost = []string{"notes", "elfgen", "internal/safeelf", "internal/procfs", "reader", "event", "provider"}

// TestOtherSystems builds for macOS and Windows what reads files, and sdtdump.
func TestOtherSystems(t *testing.T) {
	needs.Tools(t, "go")
	var packages []string
	for _, pkg := range anyHost {
		packages = append(packages, "github.com/go-usdt/usdt/"+pkg)
	}
	for _, system := range []string{"darwin/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			for _, args := range [][]string{
				append([]string{"vet"}, packages...),
				{"build", "-o", os.DevNull, "github.com/go-usdt/usdt/cmd/sdtdump"},
			} {
				cmd := exec.CommandContext(t.Context(), "go", args...)
				cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
		})
	}
}
