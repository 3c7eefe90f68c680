package collection

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/internal/privilege"
)

// functions returns the kernel's functions whose names match, as libbpf matches them, with a cookie
// for each.
func functions(pattern string, cookie uint64) (many link.KprobeMultiOptions, err error) {
	many.Symbols = []string{pattern}
	if strings.ContainsAny(pattern, "*?") {
		many.Symbols, err = matchingFunctions(pattern)
	}
	many.Cookies = slices.Repeat([]uint64{cookie}, len(many.Symbols))
	return many, err
}

func matchingFunctions(pattern string) (matching []string, err error) {
	const list = "/sys/kernel/tracing/available_filter_functions"
	f, err := os.Open(list)
	if err != nil {
		return nil, privilege.Explain("list the kernel's functions", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), " ") // behind it stands a module
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("functions %q: %w", pattern, err)
		}
		if ok && !strings.HasPrefix(name, "__ftrace_invalid_address__") { // of functions that were removed
			matching = append(matching, name)
		}
	}
	slices.Sort(matching)
	matching = slices.Compact(matching) // the kernel finds one of each name
	if len(matching) == 0 && lines.Err() == nil {
		return nil, fmt.Errorf("no function of the kernel matches %q: %w", pattern, os.ErrNotExist)
	}
	return matching, lines.Err()
}
