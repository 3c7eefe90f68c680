// Package report has the messages by which a machine under test reports to its
// host: lines of JSON on the serial console, between the kernel's own.
package report

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// Suite is a test binary to run, in a directory of its own.
type Suite struct {
	Package string // import path below the module, "internal/stub"
	Args    []string
	Yama    string // what kernel.yama.ptrace_scope is set to; empty leaves it alone
	Steady  bool   // a test that fails does not run again
}

// Name returns what messages call the suite: its package, or the setting of Yama.
func (s Suite) Name() string {
	if s.Yama != "" {
		return "yama=" + s.Yama
	}
	return s.Package
}

// Message is one line.
type Message struct {
	Suite string `json:"suite,omitempty"` // its name
	Again *Again `json:"again,omitempty"` // the suite runs again for one test
	Line  string `json:"line,omitempty"`  // of the suite's output
	Exit  *int   `json:"exit,omitempty"`  // the suite has ended

	Compile *Compile `json:"compile,omitempty"`

	Kernel *Kernel `json:"kernel,omitempty"` // the first message
	Error  string  `json:"error,omitempty"`  // the machine could not do its work
}

// Kernel describes a kernel.
type Kernel struct {
	Release   string // of uname
	Machine   string // of uname
	Mechanism string // how attach attaches
	Site      string // what provider puts at its sites
	Noexec    bool   // has the sysctl vm.memfd_noexec
}

// prefix begins messages, unlike other lines.
const prefix = "@test "

// Writer writes messages, from several goroutines.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write writes a message in one piece.
func (w *Writer) Write(m Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write([]byte("\n" + prefix + string(data) + "\n"))
	return err
}

// Parse returns the message in a line of the console; ok is false for other
// lines.
func Parse(line []byte) (m Message, ok bool) {
	_, text, found := bytes.Cut(line, []byte(prefix))
	if !found || json.Unmarshal(text, &m) != nil {
		return Message{}, false
	}
	return m, true
}
