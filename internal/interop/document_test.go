package interop_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const document = "../../INTEROP.md"

// render returns the document with the versions given, by the name of the row.
func render(versions map[string]string) string {
	var b strings.Builder
	d := &tables{out: &b, versions: versions}
	b.WriteString(intro)
	fmt.Fprintf(&b, "%s%s.\n", seenOn, versions[seenOn])
	b.WriteString(toolsIntro)
	d.table("tool", toolColumns(), tools(), func(r row, column string) (limit, bool) {
		l, ok := r.limits[column]
		return l, ok
	})
	b.WriteString(producersIntro)
	d.table("producer", producerColumns, producers(), func(r row, column string) (limit, bool) {
		l, ok := r.limits[column]
		return l, ok
	})
	b.WriteString(notesIntro)
	for i, n := range d.notes {
		fmt.Fprintf(&b, "[^%d]: %s\n", i+1, n)
	}
	return b.String()
}

const seenOn = "Written on "

// tables writes tables and gathers their notes.
type tables struct {
	out      *strings.Builder
	versions map[string]string
	notes    []string
}

// table writes a table whose first column is called first.
func (d *tables) table(first string, columns []string, rows []row, limitOf func(row, string) (limit, bool)) {
	fmt.Fprintf(d.out, "| %s | version | %s |\n|---|---|%s\n", first, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, r := range rows {
		fmt.Fprintf(d.out, "| %s | %s |", r.name, d.versions[r.name])
		for _, c := range columns {
			l, ok := limitOf(r, c)
			mark := "yes"
			if ok {
				mark = l.mark
			} else if r.checks != nil && r.checks[c] == nil {
				mark = none
			}
			fmt.Fprintf(d.out, " %s |", mark+d.note(r, l))
		}
		d.out.WriteString("\n")
	}
}

// note returns the reference to the note that explains a limit.
func (d *tables) note(r row, l limit) string {
	if l.why == "" {
		return ""
	}
	n := l.why
	if l.says != "" {
		n = fmt.Sprintf("says `%s`: %s", l.says, n)
	}
	if len(r.packages) > 0 && l.mark != "yes" {
		n = fmt.Sprintf("%s %s %s", r.packages[0], d.versions[r.name], n)
	}
	i := slices.Index(d.notes, n)
	if i < 0 {
		i = len(d.notes)
		d.notes = append(d.notes, n)
	}
	return fmt.Sprintf("[^%d]", i+1)
}

// written returns the versions in a document, for render.
func written(old string) map[string]string {
	versions := map[string]string{}
	for line := range strings.Lines(old) {
		line = strings.TrimSpace(line)
		if s, ok := strings.CutPrefix(line, seenOn); ok {
			versions[seenOn] = strings.TrimSuffix(s, ".")
		}
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(cells) > 2 {
			versions[strings.TrimPrefix(cells[0], "| ")] = cells[1]
		}
	}
	return versions
}

// installed returns the versions of what is installed.
func installed(t *testing.T) map[string]string {
	t.Helper()
	kernel, _, _ := strings.Cut(version(t, "uname", "-r"), "-")
	debian := version(t, "sh", "-c", `. /etc/os-release; echo "$PRETTY_NAME"`)
	versions := map[string]string{seenOn: fmt.Sprintf("Linux %s with packages of %s", kernel, debian)}
	for _, r := range append(tools(), producers()...) {
		versions[r.name] = none
		if len(r.packages) > 0 {
			v := version(t, "dpkg-query", "-W", "-f", "${Version}", r.packages[0])
			versions[r.name] = regexp.MustCompile(`^(?:\d+:)?(\d+(?:\.\d+)?)`).FindStringSubmatch(v)[1]
		}
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

What other people's tools see of the probes that this module makes, and what this module sees of theirs. ` +
		"`make interop`" + ` writes these tables; the tests hold each cell of them, also that what does not work still fails in the same way. A tool that has learned more fails a test as well, until its cell is changed; another version does not.

`
	toolsIntro = `
## Tools on our probes

*memfd*, *file* and *dlopen* say where the object is: in a memory file (the default), in a file, in a memory file that the dynamic linker loaded. The other columns are probes with that many arguments, of all sizes and signs, with a string, and with a struct that has a string in it. "yes" means that the tool showed every probe and every argument with its value; of tools that only list, that they listed it. After each that attaches, all semaphores are 0 again.

`
	producersIntro = `
bpftrace from 0.25 on, by its source, which was read and not run, skips memory files when it is given a PID; it takes their path.

## Our reader and attacher on other people's probes

*read* means that ` + "`reader`" + ` finds what ` + "`readelf -n`" + ` finds; *traced*, that ` + "`attach`" + ` delivers events with the right arguments; *semaphore*, that it is raised while we are attached and 0 afterwards.

`
	notesIntro = `
## Notes

`
)
