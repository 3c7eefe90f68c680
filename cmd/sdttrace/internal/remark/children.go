package remark

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
)

// Children reports which of the processes have forked others that do the same
// work, as servers do: probes fire in those, and -p does not include them.
func Children(w io.Writer, pids []int) {
	for _, pid := range pids {
		if n := untracedChildren(pid, pids); n > 0 {
			fmt.Fprintf(w, "sdttrace: process %d has %s the same program, not traced: --children traces such processes as well\n", pid, printable.Many(uint64(n), "child running", "children running"))
		}
	}
}

// untracedChildren counts the children of a process that run its program and are
// not among traced. Kernels without CONFIG_PROC_CHILDREN list none.
func untracedChildren(pid int, traced []int) int {
	program, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return 0
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0
	}
	n := 0
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(b)) {
			child, err := strconv.Atoi(field)
			if err != nil || slices.Contains(traced, child) {
				continue
			}
			if same, err := os.Stat(fmt.Sprintf("/proc/%d/exe", child)); err == nil && os.SameFile(program, same) {
				n++
			}
		}
	}
	return n
}

// Childless warns where the processes that a command starts are not traced.
func Childless(children, user bool) string {
	switch {
	case children:
		return ""
	case user:
		return "; processes that it starts are not traced, so a shell has to exec the program"
	}
	return "; processes that it starts are not traced, which --children does"
}
