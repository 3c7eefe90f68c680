package format

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/total"
)

// Texts finds arguments that are shown as numbers, and may be addresses of text.
type Texts struct {
	Value string // the argument whose values groups add up; empty if they count

	looked         int // at events and groups
	sure, possible []string
}

// maxLooked is how many events and groups are looked at.
const maxLooked = 32

// see looks at an untyped argument of one of the processes. Those may have ended.
func (t *Texts) see(a *event.Arg, pids []int) {
	if slices.Contains(t.sure, a.Name) {
		return
	}
	var address int64
	switch v := a.Value.(type) {
	case uint64:
		address = int64(v)
	case int64:
		address = v
	}
	if a.Err != nil || !isUntyped(a.Name) || address < 1<<32 || address >= 1<<47 { // user space, above code that is not relocated
		return
	}
	read := false
	for _, pid := range pids {
		text, err := textAt(pid, address)
		if read = read || err == nil; text {
			t.sure = append(t.sure, a.Name)
			return
		}
	}
	if !read && !slices.Contains(t.possible, a.Name) {
		t.possible = append(t.possible, a.Name)
	}
}

// textAt reports whether a process has a text at an address.
func textAt(pid int, address int64) (bool, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false, err
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	text := make([]byte, min(64, page-address%page))
	if _, err := f.ReadAt(text, address); err != nil {
		return false, err
	}
	text, _, ended := bytes.Cut(text, []byte{0})
	const least = 3 // letters that numbers seldom have by chance
	return ended && len(text) >= least && utf8.Valid(text) && printable.String(string(text)) == string(text), nil
}

func (t *Texts) event(ev *event.Event) {
	if t == nil || t.looked == maxLooked {
		return
	}
	t.looked++
	for i := range ev.Args {
		t.see(&ev.Args[i], []int{ev.PID})
	}
}

func (t *Texts) groups(groups []total.Group, plan attach.Plan) {
	if t == nil || t.looked == maxLooked || len(groups) == 0 {
		return
	}
	const most = 8 // processes
	var pids []int
	for i := range plan {
		pid := plan[i].PID
		if live := plan[i].Probe.Live; live != nil {
			pid = live.PID
		}
		if pid != 0 && len(pids) < most && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	for i := range groups[:min(len(groups), maxLooked-t.looked)] {
		t.looked++
		for j := range groups[i].By {
			t.see(&groups[i].By[j], pids)
		}
		t.see(&event.Arg{Name: t.Value, Value: groups[i].Min}, pids)
	}
}

// Announce says on stderr how to see the texts.
func (t *Texts) Announce(stderr io.Writer) {
	if t == nil {
		return
	}
	if slices.Contains(t.sure, t.Value) {
		fmt.Fprintf(stderr, "sdttrace: %s is the address of a text, which sdttrace count --by %[1]s --str %[1]s shows\n", t.Value)
	} else if len(t.sure) > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s: the address of a text, which --str %s shows\n", strings.Join(t.sure, ", "), strings.Join(t.sure, ","))
	} else if len(t.possible) > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s: an address; if it is the one of a text, --str %s shows it\n", strings.Join(t.possible, ", "), strings.Join(t.possible, ","))
	}
}
