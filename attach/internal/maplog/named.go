package maplog

import "strings"

// named are the files that processes of one name have mapped.
type named struct {
	comm  string
	known map[string]bool // paths
	fresh []string        // since they were asked for
}

// maxNamed bounds the paths that are known.
const maxNamed = 1 << 12

// Name makes the log note the files that processes map whose first thread is called comm, as
// it is when they execute a program or when they name it so. It is called before Follow, whose
// function is called when there are some.
func (l *Log) Name(comm string) { l.named = named{comm: comm, known: map[string]bool{}} }

// Named returns the paths of files that such processes have mapped since the last call, each
// once, as these processes see them.
func (l *Log) Named() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.named.fresh
	l.named.fresh = nil
	return fresh
}

// mapped notes that a process has mapped a file.
func (l *Log) mapped(p *life, f file) {
	n := &l.named
	if n.comm == "" || p.comm != n.comm || !f.regular() || n.known[f.path] {
		return
	}
	if len(n.known) >= maxNamed {
		clear(n.known)
	}
	n.known[f.path] = true
	n.fresh = append(n.fresh, strings.TrimSuffix(f.path, deleted))
	l.fresh[p.pid] = true
}

// renamed notes that a process has got a name.
func (l *Log) renamed(p *life) {
	if len(p.images) == 0 {
		return
	}
	for _, m := range p.images[len(p.images)-1].maps {
		l.mapped(p, m.file)
	}
}
