package bench

import (
	"fmt"
	"math"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// titles are what stands above the rows of a group.
var titles = map[Group]string{
	Program: "A program",
	Kernel:  "A function with an empty BPF program, by first instruction",
	USDT:    "A USDT probe that Go declares",
}

// Table writes rows as they come, for people.
type Table struct {
	group Group
	first Row            // of the row that is being gathered
	all   map[string]Row // by name, of one thread
}

// Machine says what is measured: the kernel, the architecture and the processors.
func Machine() string {
	var u unix.Utsname
	unix.Uname(&u) // fails for no pointer of ours
	return fmt.Sprintf("Linux %s, %s, %d processors", unix.ByteSliceToString(u.Release[:]), runtime.GOARCH, runtime.NumCPU())
}

// Head returns what stands above all.
func (t *Table) Head() string {
	all := Threads()
	most := ""
	if n := all[len(all)-1]; n > 1 {
		most = fmt.Sprintf("by %d", n) // threads
	}
	return fmt.Sprintf("%s. Times are CPU time of one.\n\n%-24s%6s%9s  %-13s%6s", Machine(), "", "ns", "syscalls", "M/s", most)
}

// Add returns the lines that a row completes, if any; the last row of a thing has the most threads.
func (t *Table) Add(r Row) string {
	if t.all == nil {
		t.all = map[string]Row{}
	}
	if r.Threads == 1 {
		t.first = r
		t.all[r.Name] = r
	}
	threads := Threads()
	if r.Err == "" && r.Threads != threads[len(threads)-1] || r.Err != "" && r.Threads > 1 {
		return ""
	}
	var b strings.Builder
	if r.Group != t.group {
		t.group = r.Group
		fmt.Fprintf(&b, "\n%s\n", titles[r.Group])
	}
	fmt.Fprintf(&b, "  %-22s", t.first.Name)
	if r.Err != "" {
		fmt.Fprintf(&b, "%6s  %s\n", "-", r.Err)
		return b.String()
	}
	f := t.first
	rate := number(f.Rate/1e6, 3)
	if f.Rate > 0 {
		rate += " ± " + number(100*f.Stddev/f.Rate, 1) + " %"
	}
	fmt.Fprintf(&b, "%6s%9s  %-13s", number(f.Nanos, 3), number(f.Syscalls, 3), rate)
	if len(threads) > 1 {
		fmt.Fprintf(&b, "%6s", number(r.Rate/1e6, 3))
	}
	if r.Lost > 0 {
		fmt.Fprintf(&b, ", %s %% lost", number(100*r.Lost, 2))
	}
	b.WriteByte('\n')
	return b.String()
}

// number writes so many digits of a number, or all in front of the point.
func number(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%.*f", max(0, digits-1-int(math.Floor(math.Log10(v)))), v)
}

// Advice says in a sentence or two what the rows mean for who places probes on this machine.
func (t *Table) Advice() string {
	var says []string
	nop := t.all["uprobe nop"].Nanos
	switch best := "uprobe " + optimised(); {
	case nop == 0:
	case t.all[best].Nanos > 0:
		says = append(says, fmt.Sprintf("This kernel optimises %s: %s ns, a breakpoint on a nop %s ns.", optimised(), number(t.all[best].Nanos, 3), number(nop, 3)))
	default:
		says = append(says, "This kernel makes no site faster than a breakpoint on a nop.")
	}
	if ret := t.all["uprobe ret"].Nanos; nop > 0 && ret > 3*nop {
		says = append(says, fmt.Sprintf("Instructions that it does not emulate, such as ret, take %s times as long.", number(ret/nop, 2)))
	}
	printed, shared := t.all["printed"].Nanos, t.all[sharedName].Nanos
	if printed > 0 && shared > 0 && printed > shared {
		says = append(says, fmt.Sprintf("Shared memory (--user) saves %s %% of an event.", number(100*(1-shared/printed), 2)))
	}
	if printed == 0 && shared > 0 {
		says = append(says, "Go services that offer their probes can be traced without privileges: --user.")
	}
	return strings.Join(says, " ")
}

// optimised names the site that the kernel turns into a call, "" for none.
func optimised() string {
	switch sys.UprobeOptimization() {
	case sys.OptimizesNop5:
		return "nop5"
	case sys.OptimizesNop10:
		return "nop10"
	}
	return ""
}
