package interop_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const document = "../../../INTEROP.md"

// versions are the versions of the tools and programs in the tables, by release
// and name.
type versions map[release]map[string]string

// render returns the document with the versions given.
func render(v versions) string {
	var b strings.Builder
	d := &tables{out: &b, versions: v}
	b.WriteString(intro)
	for _, in := range releases {
		fmt.Fprintf(&b, "%s%s\n", seenOn(in), v[in][""])
	}
	b.WriteString(toolsIntro)
	d.table("tool", toolColumns(), tools)
	b.WriteString(producersIntro)
	d.table("producer", producerColumns, producers)
	b.WriteString(notesIntro)
	for i, n := range d.notes {
		fmt.Fprintf(&b, "[^%d]: %s\n", i+1, n)
	}
	return b.String()
}

// seenOn begins the line that says what a release's results were seen on.
func seenOn(in release) string { return fmt.Sprintf("- %v, by `%s`: ", in, in.target()) }

// tables writes tables and gathers their notes.
type tables struct {
	out      *strings.Builder
	versions versions
	notes    []string
}

// table writes a table whose first column is called first. Equal rows of several
// releases are one row.
func (d *tables) table(first string, columns []string, rows func(release) []row) {
	fmt.Fprintf(d.out, "| %s |", first)
	for _, in := range releases {
		fmt.Fprintf(d.out, " %v |", in)
	}
	fmt.Fprintf(d.out, " %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", 1+len(releases)+len(columns)))
	for i := range rows(releases[0]) {
		for rest := releases; len(rest) > 0; {
			r := rows(rest[0])[i]
			same := 1
			for same < len(rest) && slices.Equal(r.cells(columns), rows(rest[same])[i].cells(columns)) {
				same++
			}
			d.row(r, columns, rest[:same])
			rest = rest[same:]
		}
	}
}

// cells returns the row's cells as the document shows them.
func (r row) cells(columns []string) []limit {
	cells := make([]limit, len(columns))
	for i, c := range columns {
		l, ok := r.limits[c]
		switch {
		case ok:
			cells[i] = limit{mark: l.mark, says: l.says, why: l.why}
		case r.checks != nil && r.checks[c] == nil:
			cells[i].mark = none
		default:
			cells[i].mark = "yes"
		}
	}
	return cells
}

// row writes a row that stands for some releases.
func (d *tables) row(r row, columns []string, in []release) {
	fmt.Fprintf(d.out, "| %s |", r.name)
	for _, other := range releases {
		version := ""
		if slices.Contains(in, other) {
			version = d.versions[other][r.name]
		}
		fmt.Fprintf(d.out, " %s |", version)
	}
	for _, l := range r.cells(columns) {
		fmt.Fprintf(d.out, " %s |", l.mark+d.note(r, l, in))
	}
	d.out.WriteString("\n")
}

// note returns the reference to the note that explains a limit.
func (d *tables) note(r row, l limit, in []release) string {
	if l.why == "" {
		return ""
	}
	n := l.why
	if l.says != "" {
		n = fmt.Sprintf("says `%s`: %s", l.says, n)
	}
	if len(r.packages) > 0 && l.mark != "yes" {
		var versions []string
		for _, release := range in {
			versions = append(versions, d.versions[release][r.name])
		}
		n = fmt.Sprintf("%s %s %s", r.packages[0], strings.Join(versions, "/"), n)
	}
	i := slices.Index(d.notes, n)
	if i < 0 {
		i = len(d.notes)
		d.notes = append(d.notes, n)
	}
	return fmt.Sprintf("[^%d]", i+1)
}

// written returns the versions in a document, for render.
func written(old string) versions {
	v := versions{}
	for i, in := range releases {
		v[in] = map[string]string{}
		for line := range strings.Lines(old) {
			line = strings.TrimSpace(line)
			if s, ok := strings.CutPrefix(line, seenOn(in)); ok {
				v[in][""] = s
			}
			if cells := strings.Split(line, "|"); len(cells) > 2+i {
				if version := strings.TrimSpace(cells[2+i]); version != "" {
					v[in][strings.TrimSpace(cells[1])] = version
				}
			}
		}
	}
	return v
}

// installed returns the versions of the installed tools and programs.
func installed(t *testing.T, here release) map[string]string {
	t.Helper()
	kernel, _, _ := strings.Cut(version(t, "uname", "-r"), "-")
	debian := version(t, "sh", "-c", `. /etc/os-release; echo "$PRETTY_NAME"`)
	versions := map[string]string{"": fmt.Sprintf("Linux %s with packages of %s", kernel, debian)}
	for _, r := range append(tools(here), producers(here)...) {
		var all []string
		for _, name := range r.packages {
			v := version(t, "dpkg-query", "-W", "-f", "${Version}", name)
			all = append(all, regexp.MustCompile(`^(?:\d+:)?(\d+(?:\.\d+)?)`).FindStringSubmatch(v)[1])
		}
		versions[r.name] = cmp.Or(strings.Join(all, ", "), none)
	}
	return versions
}

// version returns what a command prints.
func version(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil || len(out) == 0 {
		t.Fatalf("version by %s %q: %v", name, args, err)
	}
	return strings.TrimSpace(string(out))
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

const (
	intro = `# Interop

This page shows what other people's tools see of the probes that this module makes, and what this module sees of theirs. Tests write these tables and hold each cell of them, also that what does not work still fails in the same way. A tool that has learned more fails a test as well, until its cell is changed; another version does not. The columns of releases have the versions; where the results differ, each has a row of its own.

`
	toolsIntro = `
## Tools on our probes

*memfd*, *file* and *dlopen* say where the object is: in a memory file (the default), in a file, in a memory file that the dynamic linker loaded. The other columns are probes with that many arguments, of all sizes and signs, with a string, and with a struct that has a string in it. "yes" means that the tool showed every probe and every argument with its value; of tools that only list, that they listed it. After each that attaches, all semaphores are 0 again.

`
	producersIntro = `
Newer tools, of Debian's testing release, were run by hand, and no test holds what they do. bpftrace 0.27 finds no memory files by a PID; it takes their path, with or without the PID. It reads twelve arguments, and attaches to no probe of which libbpf cannot read an argument, as in memory beside the instruction pointer or of floating point. libbpf 1.7, gdb 18.1, perf 7.2, lldb 21.1 and SystemTap 5.6 do as those of Debian 13. *argdist* of bcc 0.35 fails as there, and *trace* fails to compile its programs with the headers of Linux 7.2.

## Our reader and attacher on other people's probes

*read* means that ` + "`reader`" + ` finds what ` + "`readelf -n`" + ` finds; *traced*, that ` + "`attach`" + ` delivers events with the right arguments; *semaphore*, that it is raised while we are attached and 0 afterwards. Where a compiler is named, its version follows that of ` + "`sys/sdt.h`" + `.

`
	notesIntro = `
## Notes

`
)
