package attach_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestFindTypes asks for the arguments of a function by debugging information.
func TestFindTypes(t *testing.T) {
	needs.Tools(t, "gcc")
	source, path := filepath.Join(t.TempDir(), "typed.c"), filepath.Join(t.TempDir(), "typed")
	const code = "__attribute__((noipa)) long handle(int count, const char *path) { return count + *path; }\nint main(void) { return handle(1, \"x\"); }\n"
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-g", "-O1", "-o", path, source)
	for _, types := range []bool{false, true} {
		plan, err := attach.Find(t.Context(), []string{"uprobe:" + path + ":handle"}, &attach.FindOptions{Types: types})
		if err != nil || len(plan) != 1 {
			t.Fatalf("%d sites, error %v", len(plan), err)
		}
		typed := plan[0].Probe.Target.Typed
		if !types {
			if typed != nil {
				t.Errorf("%+v without Types", typed)
			}
			continue
		}
		if typed == nil || !typed.Known || len(typed.Arguments) < 2 || typed.Arguments[0].Name != "count" || typed.Arguments[0].Type != "int" || typed.Arguments[1].Name != "path" {
			t.Errorf("%+v", typed)
		}
	}
}
