package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// tools are programs of the host that machines of its architecture have as well, for benchmarks beside them.
var tools []string

// needed matches a line of ldd with the path of a library.
var needed = regexp.MustCompile(`(?m)^\s(?:\S+ => )?(/\S+) \(0x`)

// toolFiles returns where machines have the tools and their libraries, and where the host has them.
func toolFiles() (map[string]string, error) {
	files := map[string]string{}
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err != nil {
			return nil, err
		}
		files["bin/"+tool] = path
		out, err := exec.Command("ldd", path).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("ldd %s: %w\n%s", path, err, out)
		}
		for _, m := range needed.FindAllStringSubmatch(string(out), -1) {
			files[strings.TrimPrefix(m[1], "/")] = m[1]
		}
	}
	return files, nil
}
