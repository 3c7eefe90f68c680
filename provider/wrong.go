package provider

import (
	"fmt"
	"slices"
)

// wrong is a declaration that each Load reports.
type wrong struct {
	name    string // of the probe, empty for the provider's options
	at      place
	err     error
	earlier bool // it was made before the last Close, and not reported since
}

// wrongs are the wrong declarations of a provider, each place once: a program may
// go on to declare for as long as it runs.
type wrongs struct {
	list []wrong
	more int // declarations for which there was no room
}

// maxWrong is the number of wrong declarations that Load tells apart.
const maxWrong = 64

// add notes what is wrong with a declaration.
func (w *wrongs) add(name string, at place, err error) {
	now := wrong{name: name, at: at, err: err}
	for i := range w.list {
		if w.list[i].name == name && w.list[i].at == at {
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

// report returns the errors. What has been reported since the last Close is not
// forgiven until the next.
func (w *wrongs) report() (errs []error) {
	for i := range w.list {
		w.list[i].earlier = false
		errs = append(errs, w.list[i].err)
	}
	if w.more > 0 {
		errs = append(errs, fmt.Errorf("%d more times a declaration was wrong: these are the first %d of them", w.more, maxWrong))
	}
	return errs
}

// close has the next declaration of each name forgive what was wrong with it.
func (w *wrongs) close() {
	for i := range w.list {
		w.list[i].earlier = true
	}
}

// forgive forgets what was wrong with declarations of that name before the last
// Close.
func (w *wrongs) forgive(name string) {
	w.list = slices.DeleteFunc(w.list, func(w wrong) bool { return w.earlier && w.name == name })
	if len(w.list) == 0 {
		w.more = 0
	}
}
