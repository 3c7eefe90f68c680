package plan

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCopyingCode recognises stripped programs that copy their code, and no others.
func TestCopyingCode(t *testing.T) {
	needs.C(t)
	for ways, want := range map[string]string{
		"-DMAPS": "looks for itself", "-DMAPS -DOVER": "looks for itself", "-DFORMAT": "looks for itself",
		"-DHEADERS": "looks for itself", "-DLINKER": "looks for itself", "-DLINKER -fno-plt": "looks for itself", "-DLINKER -fcf-protection=full": "looks for itself",
		"-DGROWS -DLINKER": "", "-DELSEWHERE": "", "-DGUARDS -DMAPS": "", "-DREADS -DMAPS": "",
	} {
		compilers := []string{"gcc -O1"}
		if ways == "-DMAPS" || ways == "-DLINKER" {
			compilers = append(compilers, "gcc -O2 -no-pie", "clang -O2 -fuse-ld=lld", "gcc -O2 -fuse-ld=mold")
		}
		for _, compiler := range compilers {
			command := append(strings.Fields(compiler), strings.Fields(ways)...)
			for _, tool := range command {
				if linker, ok := strings.CutPrefix(tool, "-fuse-ld="); ok {
					needs.Tools(t, "ld."+linker)
				}
			}
			needs.Tools(t, command[0])
			path := filepath.Join(t.TempDir(), "moves")
			needs.Run(t, command[0], append(command[1:], "-s", "-w", "-o", path, "testdata/moves.c")...)
			o, err := operand.OpenObject(path)
			if err != nil {
				t.Fatal(err)
			}
			got := copyingCode(o)
			o.Close()
			if !strings.Contains(got, want) || (want == "") != (got == "") {
				t.Errorf("%s %s: got %q, want %q", compiler, ways, got, want)
			}
		}
	}
}
