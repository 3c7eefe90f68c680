package plan

import (
	"os/exec"
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
		"-DMAPS": "looks for itself", "-DMAPS -DOVER=0": "looks for itself", "-DMAPS -DOVER=PROT_EXEC": "looks for itself", "-DFORMAT": "looks for itself",
		"-DHEADERS": "looks for itself", "-DLINKER": "looks for itself", "-DLINKER -fno-plt": "looks for itself", "-DLINKER -fcf-protection=full": "looks for itself",
		"-DHEADERS -DOVER=0": "looks for itself", "-DMAPS -DOVER=PROT_EXEC -DOPEN": "looks for itself", "-DMAPS -DOVER=PROT_EXEC -DOPEN -DHUGE=0x54040000": "looks for itself",
		"-DGROWS -DLINKER": "", "-DELSEWHERE": "", "-DGUARDS -DMAPS": "", "-DREADS -DMAPS": "",
	} {
		compilers := []string{"gcc -O1"}
		if ways == "-DMAPS" || ways == "-DLINKER" {
			compilers = append(compilers, "gcc -O2 -no-pie", "clang -O2 -fuse-ld=lld", "gcc -O2 -fuse-ld=mold")
		}
		if ways != "-DELSEWHERE" { // a C library that is linked looks for the program
			compilers = append(compilers, "gcc -O1 -static")
		}
		if ways == "-DMAPS" || ways == "-DMAPS -DOVER=PROT_EXEC" {
			compilers = append(compilers, "gcc -O2 -static-pie")
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
			checkCopying(t, path, compiler+" "+ways, want)
		}
	}
}

// TestCopyingCodeOfDebian looks at programs that map, move or protect memory for other reasons, and
// at one that copies its code.
func TestCopyingCodeOfDebian(t *testing.T) {
	for program, want := range map[string]string{"node": "looks for itself", "qemu-arm-static": "", "qemu-aarch64-static": "", "ruby": ""} {
		needs.Tools(t, program)
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		checkCopying(t, path, program, want)
	}
}

func checkCopying(t *testing.T, path, what, want string) {
	t.Helper()
	o, err := operand.OpenObject(path)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got := copyingCode(o); !strings.Contains(got, want) || (want == "") != (got == "") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
