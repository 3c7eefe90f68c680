package main

import (
	"os"
	"slices"
	"testing"
)

// TestToolFiles checks that a machine gets a program with the libraries that it is linked with.
func TestToolFiles(t *testing.T) {
	lines := "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibbpf.so.1 => /lib/x86_64-linux-gnu/libbpf.so.1 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n"
	var got []string
	for _, m := range needed.FindAllStringSubmatch(lines, -1) {
		got = append(got, m[1])
	}
	if want := []string{"/lib/x86_64-linux-gnu/libbpf.so.1", "/lib64/ld-linux-x86-64.so.2"}; !slices.Equal(got, want) {
		t.Errorf("libraries %q, want %q", got, want)
	}
	defer func() { tools = nil }()
	tools = []string{"gcc"}
	files, err := toolFiles()
	if err != nil || files["bin/gcc"] == "" || len(files) < 2 {
		t.Errorf("%q, error %v", files, err)
	}
	for _, from := range files {
		if _, err := os.Stat(from); err != nil {
			t.Error(err)
		}
	}
	tools = []string{"no-such-tool"}
	if _, err := toolFiles(); err == nil {
		t.Error("a tool that the host lacks is no error")
	}
}
