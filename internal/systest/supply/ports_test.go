package supply_test

import (
	"fmt"
	"go/build"
	"go/types"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestPorts checks that programs that declare probes, and tests of them, can be built for
// every system and architecture that Go knows: once for each kind of
// standard library, choice of this module's files and size of words.
func TestPorts(t *testing.T) {
	needs.Tools(t, "go")
	list, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := modulesFor(t, runtime.GOOS, "./provider/providertest") // only golang.org/x/sys
	host := build.Default
	defer func() { build.Default = host }()
	checked := map[string]string{}
	libraries := map[string]*port{} // the first port with each, which reads it
	for _, pair := range strings.Fields(string(list)) {
		p := newPort(host, pair, modules)
		all := map[string][]string{}
		if err := p.sources(module+"provider/providertest", all); err != nil {
			t.Errorf("%s: %v", pair, err)
			continue
		}
		library := p.GOOS // whose packages syscall and os are like no other's
		if !slices.Contains([]string{"plan9", "js", "wasip1", "windows"}, library) {
			library = "unix"
		}
		library += fmt.Sprint(types.SizesFor("gc", p.GOARCH).Sizeof(types.Typ[types.Int]))
		key := fmt.Sprint(library, all)
		if checked[key] != "" {
			continue
		}
		checked[key] = pair
		first := libraries[library]
		if first == nil {
			first = p
			libraries[library] = p
		}
		p.shareStandard(first)
		if _, err := p.Import(module + "provider/providertest"); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
	if len(checked) < 6 {
		t.Errorf("only %d choices of files: %v", len(checked), checked)
	}
	t.Logf("%d checked", len(checked))
}
