package collection_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// plainly compiles testdata/shop.bpf.c with lines in place of nothing before usdt.bpf.h is
// included, and reads it as cilium/ebpf does by itself.
func plainly(t *testing.T, before, behind string) *ebpf.CollectionSpec {
	t.Helper()
	needs.Tools(t, "clang")
	source, err := os.ReadFile("testdata/shop.bpf.c")
	if err != nil {
		t.Fatal(err)
	}
	const include = "#include <bpf/usdt.bpf.h>\n"
	path := filepath.Join(t.TempDir(), "shop.bpf.c")
	text := strings.Replace(string(source), include, before+include+behind, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "clang", "-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_x86", "-I/usr/include/x86_64-linux-gnu", "-c", path, "-o", path+".o")
	spec, err := ebpf.LoadCollectionSpec(path + ".o")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// notWeak makes of usdt.bpf.h what cilium/ebpf reads by itself.
const notWeak = "#undef __weak\n#define __weak\n"

// TestSpecOfOtherLoader takes specs that cilium/ebpf has read by itself, as loaders that bpf2go
// writes do, twice, since New changes no spec.
func TestSpecOfOtherLoader(t *testing.T) {
	spec := plainly(t, notWeak, "")
	shop := provider.New("shop", nil)
	order := provider.NewProbe2[uint32, int64](shop, "order", "items", "cents")
	if err := shop.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shop.Close() })
	for range 2 {
		c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
		if err := c.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		order.Fire(2, 1999)
		var turnover int64
		if err := c.Maps["turnover"].Lookup(uint32(0), &turnover); err != nil || turnover != 3998 {
			t.Errorf("turnover %d (%v), want 3998", turnover, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSpecOfOtherLoaderRefused asks the kernel's configuration in such a program, whose answers
// cannot be told apart any more.
func TestSpecOfOtherLoaderRefused(t *testing.T) {
	spec := plainly(t, notWeak, "extern int LINUX_KERNEL_VERSION __kconfig;\n#define MORE(x) (x + LINUX_KERNEL_VERSION)\n"+
		"SEC(\"uprobe\")\nint version(void *ctx) { return MORE(1); }\n")
	_, err := collection.New(t.Context(), spec, nil)
	needPrivileges(t, err)
	if err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "LINUX_KERNEL_VERSION") {
		t.Errorf("got error %v", err)
	}
}
