package supply_test

import (
	"go/build"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// anyHost are the packages that build on other systems than Linux: the packages that
// read and write files, provider, whose probes do nothing there, and providertest, which
// records them there.
var anyHost = []string{"notes", "elfgen", "internal/safeelf", "internal/procfs", "reader", "event", "event/args", "total", "provider", "provider/providertest", "internal/sdtdump"}

// TestOtherSystems checks that these packages can be built for macOS and Windows.
func TestOtherSystems(t *testing.T) {
	needs.Tools(t, "go")
	host := build.Default
	defer func() { build.Default = host }()
	var paths []string
	for _, pkg := range anyHost {
		paths = append(paths, module+pkg)
	}
	for _, pair := range []string{"darwin/arm64", "windows/amd64"} {
		goos, _, _ := strings.Cut(pair, "/")
		p := newPort(host, pair, modulesFor(t, goos, paths...))
		p.shareStandard(p)
		for _, path := range paths {
			if _, err := p.Import(path); err != nil {
				t.Errorf("%s: %v", pair, err)
			}
		}
		if len(p.modules) < 5 || len(p.packages) < 2*len(paths) {
			t.Errorf("%s: checked %d packages with %d other modules", pair, len(p.packages), len(p.modules))
		}
	}
}
