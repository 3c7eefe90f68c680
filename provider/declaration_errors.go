package provider

import (
	"fmt"
	"runtime"
)

// wrong is a declaration that each Load reports.
type wrong struct {
	_       [0]func() // without a function that compares two
	name    string    // the probe's name, empty for the provider's options
	at      sourceLine
	err     error
	earlier bool // whether it was made before the last Close, and not reported since
}

// wrongs holds the wrong declarations of a provider, one for each place in the
// source, since a program may go on declaring for as long as it runs.
type wrongs struct {
	list []*wrong
	more int // declarations beyond the first maxWrong
}

// maxWrong is the largest number of wrong declarations that Load reports one by one.
const maxWrong = 64

// add records what is wrong with a declaration.
func (w *wrongs) add(name string, at sourceLine, err error) {
	now := &wrong{name: name, at: at, err: err}
	for i, old := range w.list {
		if old.name == name && old.at == at {
			w.list[i] = now
			return
		}
	}
	if len(w.list) == maxWrong {
		w.more++
		return
	}
	w.list = append(w.list, now)
}

// report returns the errors. Errors reported since the last Close stay until the next. Options
// that LoadAll overrides are forgotten: main has mended them.
func (w *wrongs) report() []error {
	all.Lock()
	overridden := all.opts != nil
	all.Unlock()
	w.list = remove(w.list, func(w *wrong) bool { return overridden && w.name == "" })
	for _, wrong := range w.list {
		wrong.earlier = false
	}
	return w.errors()
}

// errors returns the errors.
func (w *wrongs) errors() (errs []error) {
	for _, wrong := range w.list {
		errs = append(errs, wrong.err)
	}
	if w.more > 0 {
		errs = append(errs, errorf("%d more declarations are wrong: the first %d are listed", w.more, maxWrong))
	}
	return errs
}

// close lets the next declaration of each name replace the wrong one.
func (w *wrongs) close() {
	for _, wrong := range w.list {
		wrong.earlier = true
	}
}

// forgive drops the errors of declarations with this name from before the last Close.
func (w *wrongs) forgive(name string) {
	w.list = remove(w.list, func(w *wrong) bool { return w.earlier && w.name == name })
	if len(w.list) == 0 {
		w.more = 0
	}
}

// sourceLine is where something was declared: a return address in the program, 0 for none.
// It costs a word and no time; only an error needs file and line.
type sourceLine uintptr

// String returns the file and line.
func (p sourceLine) String() string {
	f, _ := runtime.CallersFrames([]uintptr{uintptr(p)}).Next()
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}
