package timeline

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// queries are what Perfetto's trace_processor is asked. Instants last for 0 ns, slices
// without an end for -1.
var queries = []string{
	`select name || ' ' || severity || ' ' || value from stats where severity <> 'info' and value > 0`,
	`select s.id, s.parent_id, s.ts, s.dur, s.category, s.name, s.depth, s.arg_set_id,
		coalesce(process.pid, 0), coalesce(thread.tid, 0), coalesce(track.name, '')
		from slice s join track on track.id = s.track_id
		left join thread_track on thread_track.id = track.id left join thread using (utid)
		left join process_track on process_track.id = track.id left join process on process.upid = coalesce(thread.upid, process_track.upid)
		order by s.id`,
	`select arg_set_id, substr(key, 7), value_type, case value_type
			when 'string' then coalesce(string_value, '')
			when 'real' then printf('%!.17g', real_value)
			when 'bool' then iif(int_value, 'true', 'false')
			when 'int' then int_value
			else printf('%u', int_value) end
		from args where key glob 'debug.*'`,
	`select slice_out, slice_in from flow`,
	`select coalesce(pid, 0), track.name, printf('%!.17g', value) from counter join track on track.id = counter.track_id
		left join process_counter_track on process_counter_track.id = track.id left join process using (upid)
		order by counter.ts, counter.id`,
	`select pid || ' ' || name from process where name is not null and pid > 0`,
	`select tid || ' ' || name from thread where name is not null and tid > 0`,
	`select slice_id, callsite_id from __intrinsic_track_event_callstacks where callsite_id is not null`,
	`select c.id, c.parent_id, f.name, f.rel_pc, m.name, s.source_file, s.line_number
		from stack_profile_callsite c join stack_profile_frame f on f.id = c.frame_id
		join stack_profile_mapping m on m.id = f.mapping
		left join stack_profile_symbol s on s.symbol_set_id = f.symbol_set_id`,
	`select clock_value - ts from clock_snapshot where clock_name = 'REALTIME' order by snapshot_id`,
}

// none is how the processor prints NULL.
const none = "[NULL]"

// view is what a trace shows, each thing in a line.
type view struct {
	Slices, Flows, Counters, Processes, Threads []string
	Ahead                                       string
}

// ReadFile reads the trace of a test, of which nothing may be missing, and compares it.
func ReadFile(tb testing.TB, path string) *Trace {
	tb.Helper()
	trace := ReadKilled(tb, path)
	if trace.Cut != 0 {
		tb.Errorf("%d bytes of a packet at the end", trace.Cut)
	}
	return trace
}

// ReadKilled reads the trace of a process that was killed, which ends a write in its midst, and compares what it
// has.
func ReadKilled(tb testing.TB, path string) *Trace {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	trace, err := Read(b)
	if err != nil {
		tb.Fatal(err)
	}
	trace.Compare(tb, b[:len(b)-trace.Cut])
	return trace
}

// Compare has Perfetto's trace_processor read the trace, where it is installed and the one
// that this package knows, and fails the test if that complains, or sees anything else than
// [Read] has seen. An update of the library fails the tests of this package, and no others.
func (t *Trace) Compare(tb testing.TB, trace []byte) {
	tb.Helper()
	if !installed() {
		return // a test of this package wants it
	}
	program, err := processor()
	if err != nil {
		return // tests of this package say it
	}
	a, err := ask(program, trace, queries...)
	if err != nil {
		tb.Fatal(err)
	}
	for _, complaint := range a[0] {
		tb.Errorf("trace_processor complains: %s", complaint[0])
	}
	if d := gocmp.Diff(t.view(), processed(a)); d != "" {
		tb.Errorf("what the trace shows (-to our reader +to trace_processor):\n%s", d)
	}
}

// view returns what our reader sees.
func (t *Trace) view() view {
	v := view{Ahead: fmt.Sprint(int64(t.Ahead))}
	brief := func(s *Slice) string {
		if s == nil {
			return ""
		}
		return fmt.Sprintf("%s at %d", s.Name, s.At)
	}
	for _, s := range t.Slices {
		took := int64(s.Took)
		if s.Open {
			took = -1
		}
		var args []string
		for name, value := range s.Args {
			text := fmt.Sprint(value)
			if f, ok := value.(float64); ok {
				text = float(f)
			}
			args = append(args, name+"="+text)
		}
		v.Slices = append(v.Slices, line(s.At, took, s.Category, s.Name, s.PID, s.TID, s.Lane, s.Depth, brief(s.Parent), args, s.Stack))
	}
	for _, f := range t.Flows {
		v.Flows = append(v.Flows, brief(f[0])+" to "+brief(f[1]))
	}
	for name, values := range t.Counters {
		line := name + ":"
		for _, f := range values {
			line += " " + float(f)
		}
		v.Counters = append(v.Counters, line)
	}
	for pid, name := range t.Processes {
		v.Processes = append(v.Processes, fmt.Sprintf("%d %s", pid, name))
	}
	for tid, name := range t.Threads {
		v.Threads = append(v.Threads, fmt.Sprintf("%d %s", tid, name))
	}
	return v.sorted()
}

// processed returns what the processor sees, by its answers.
func processed(a [][][]string) view {
	var v view
	args, stacks, calls, brief := map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string]string{}
	for _, r := range a[2] {
		if r[2] == "real" {
			f, err := strconv.ParseFloat(r[3], 64)
			if err != nil {
				f = math.NaN() // which is NULL in SQL
			}
			r[3] = float(f)
		}
		args[r[0]] = append(args[r[0]], r[1]+"="+r[3])
	}
	for _, r := range a[8] {
		calls[r[0]] = r
	}
	for _, r := range a[7] {
		for at := calls[r[1]]; at != nil; at = calls[at[1]] {
			stacks[r[0]] = append(stacks[r[0]], called(at[2:]))
		}
	}
	for _, r := range a[1] {
		brief[r[0]] = r[5] + " at " + r[2]
	}
	for _, r := range a[1] {
		v.Slices = append(v.Slices, line(r[2], r[3], r[4], r[5], r[8], r[9], r[10], r[6], brief[r[1]], args[r[7]], stacks[r[0]]))
	}
	for _, r := range a[3] {
		v.Flows = append(v.Flows, brief[r[0]]+" to "+brief[r[1]])
	}
	counters := map[string]string{}
	for _, r := range a[4] {
		f, _ := strconv.ParseFloat(r[2], 64)
		name := r[0] + " " + r[1] + ":"
		counters[name] += " " + float(f)
	}
	for name, values := range counters {
		v.Counters = append(v.Counters, name+values)
	}
	for _, r := range a[5] {
		v.Processes = append(v.Processes, r[0])
	}
	for _, r := range a[6] {
		v.Threads = append(v.Threads, r[0])
	}
	if n := len(a[9]); n > 0 {
		v.Ahead = a[9][n-1][0]
	}
	return v.sorted()
}

// called returns a call as our reader has it: its function, offset, file with code, source
// and line.
func called(r []string) string {
	text := func(s string) string {
		if s == none {
			return ""
		}
		return s
	}
	name := text(r[0])
	if source := text(r[3]); source != "" {
		name += fmt.Sprintf(" (%s:%s)", source, cmp.Or(text(r[4]), "0"))
	}
	if mapping := text(r[2]); mapping != "" {
		offset, _ := strconv.ParseUint(r[1], 10, 64)
		name += fmt.Sprintf(" [%s+%#x]", mapping, offset)
	}
	return strings.TrimSpace(name)
}

// line returns a slice with all that belongs to it.
func line(at, took, category, name, pid, tid, lane, depth any, parent string, args, stack []string) string {
	slices.Sort(args)
	return fmt.Sprintf("%v for %v: %v %v, process %v, thread %v, track %q, at depth %v in %q, %q, called by %q", at, took, category, name, pid, tid, lane, depth, parent, args, stack)
}

// float returns a number as it is compared.
func float(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// sorted returns the view in an order of its own: lines of one time have none.
func (v view) sorted() view {
	for _, lines := range []*[]string{&v.Slices, &v.Flows, &v.Counters, &v.Processes, &v.Threads} {
		slices.Sort(*lines)
	}
	return v
}
