package attach_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// fires has a program of testdata/linked.c fire, and returns what it says of that, and its
// semaphores.
func fires(t *testing.T, send func(string, ...any), line func() string) (said []string, semaphores string) {
	t.Helper()
	for send(""); ; {
		l := line()
		if rest, ok := strings.CutPrefix(l, "done "); ok {
			return said, rest
		}
		said = append(said, l)
	}
}

// tools change a linked file, which is $0, and write $1.
var tools = map[string]string{
	"strip": `strip -o "$1" "$0"`, "eu-strip": `eu-strip -f "$1.debug" -o "$1" "$0"`, "objcopy": `objcopy --strip-debug --add-section .more="$0" --set-section-flags .more=alloc,readonly "$0" "$1"`,
	"compress": `objcopy --compress-debug-sections "$0" "$1"`, "patchelf": `patchelf --set-rpath "/` + strings.Repeat("far/", 30) + `" --output "$1" "$0"`,
	"debuglink": `objcopy --only-keep-debug "$0" "$1.debug" && objcopy --strip-all --add-gnu-debuglink="$1.debug" "$0" "$1"`,
}

// TestLinked compares the events, the stacks and the semaphores of a program with what it says
// itself, as four linkers lay it out with their options, and as other tools change that.
func TestLinked(t *testing.T) {
	needs.C(t)
	check := func(name, path string, stripped bool) {
		t.Run(name, func(t *testing.T) {
			p := start(t, exec.Command(path))
			fires(t, p.Send, p.Line) // now the dynamic linker has finished
			s := open(t, path+":linked:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"linked:data:arg4"}, Stack: attach.MaxUnwound, Unwind: true})
			said, semaphores := fires(t, p.Send, p.Line)
			if len(said) != 2 || strings.Contains(semaphores, "0") {
				t.Errorf("it said %q, and has the semaphores %s", said, semaphores)
			}
			var got []string
			for _, ev := range drain(t, s) {
				words := []string{ev.Name}
				for i, a := range ev.Args {
					word := fmt.Sprint(a.Value)
					if stripped && a.Err != nil && strings.Contains(a.Err.Error(), "symbol") {
						word = strings.Fields(said[len(got)])[1+i] // the note names a symbol that is gone
					}
					words = append(words, word)
				}
				got = append(got, strings.Join(words, " "))
				if len(ev.Stack.PCs) < 3 {
					t.Errorf("%s has a stack of %d frames", ev.Name, len(ev.Stack.PCs))
					continue
				}
				ev.Stack.PCs = ev.Stack.PCs[:3] // what calls main is in libc, whose debug file is large
				if names := functions(ev.Stack); !stripped && names != "inner outer main" {
					t.Errorf("%s has the stack %q", ev.Name, names)
				}
			}
			if !slices.Equal(got, said) {
				t.Errorf("got %q, the program said %q", got, said)
			}
			if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
				t.Error(err)
			}
			if said, semaphores := fires(t, p.Send, p.Line); len(said) != 1 || semaphores != "0 0" {
				t.Errorf("after the end it says %q, and has the semaphores %s", said, semaphores)
			}
		})
	}
	for _, linker := range linkers {
		for _, flags := range []string{
			"", "-no-pie -fno-pie", "-no-pie -fno-pie -Wl,-z,max-page-size=0x200000", "-static -DIFUNC", "-static-pie -fPIE -DIFUNC", "-DIFUNC -Wl,-z,now -Wl,--gc-sections",
			"-Wl,-z,separate-code", "-Wl,-z,noseparate-code", "-Wl,--build-id=none -Wl,--hash-style=sysv",
		} {
			if linker == "gold" && (strings.Contains(flags, "-static-pie") || strings.Contains(flags, "separate-code")) {
				continue // which it does not know
			}
			if linker != "bfd" {
				needs.Tools(t, "ld."+linker)
				flags += " -fuse-ld=" + linker
			}
			path := compileC(t, "linked", append([]string{"gcc", "-O2", "-g"}, strings.Fields(flags)...)...)
			name := linker + " " + flags
			check(name, path, false)
			if strings.Contains(flags, "-") && flags != " -fuse-ld=lld" {
				continue
			}
			for tool, command := range tools {
				needs.Tools(t, strings.Fields(command)[0])
				changed := filepath.Join(t.TempDir(), tool)
				needs.Run(t, "sh", "-c", command, path, changed)
				check(name+" "+tool, changed, tool == "strip" || tool == "eu-strip" || tool == "debuglink")
			}
		}
	}
}

// TestMovedBase refuses the notes of a file whose code is not where they say.
func TestMovedBase(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	needs.C(t)
	needs.Tools(t, "objcopy")
	path := compileC(t, "linked", "gcc", "-O2", "-g", "-no-pie", "-fno-pie")
	moved := filepath.Join(t.TempDir(), "moved")
	needs.Run(t, "objcopy", "--change-section-address", ".stapsdt.base+0x1", path, moved)
	p := start(t, exec.Command(moved))
	fires(t, p.Send, p.Line)
	target := attach.Target{PIDs: []int{p.PID()}}
	plan, err := attach.Find(t.Context(), []string{moved + ":linked:*"}, &attach.FindOptions{Target: target})
	if err != nil || len(plan) != 2 {
		t.Fatalf("%+v, error %v", plan, err)
	}
	for _, site := range plan {
		if !errors.Is(site.Reason, attach.ErrUnsafe) {
			t.Errorf("%s at %#x: %v, want %v", site.Probe.Name, site.Offset, site.Reason, attach.ErrUnsafe)
		}
	}
	if s, err := attach.Open(t.Context(), []string{moved + ":linked:*"}, &attach.Options{Target: target}); err == nil {
		s.Close()
	}
	p.Send("")
	if _, err := p.Next(); err != nil {
		t.Errorf("the program under its probes: %v", err)
	}
}
