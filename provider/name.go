package provider

import (
	"slices"
	"strings"
)

// Lengths of the longest names from which perf can make an event: its group
// "sdt_PROVIDER" and its event NAME have 63 bytes each (include/linux/trace_events.h
// and kernel/trace/trace.h: MAX_EVENT_NAME_LEN 64, with the NUL).
const (
	maxProviderName = 63 - len("sdt_")
	maxProbeName    = 63
	maxArgName      = 63
)

// checkName returns an error if tools could not handle the name: perf, bpftrace and C
// want identifiers.
func checkName(what, name string, limit int) error {
	switch {
	case name == "":
		return errorf("%s name is empty", what)
	case len(name) > limit:
		return errorf("%s name %q has %d bytes, and perf accepts at most %d", what, name, len(name), limit)
	case !isIdentifier(name):
		return errorf("%s name %q is not a C identifier (letters, digits and _, no digit first)", what, name)
	}
	return nil
}

func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		digit := '0' <= c && c <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return true
}

// checkArgNames returns an error unless names can be the names of n arguments.
func checkArgNames(names []string, n int) error {
	if len(names) != n {
		return errorf("%d argument names for %d arguments", len(names), n)
	}
	errs := make([]error, n)
	for i, name := range names {
		errs[i] = checkArgName(name, names[:i])
	}
	return join(errs...)
}

// checkArgName returns an error if name cannot be an argument's behind the others.
func checkArgName(name string, others []string) error {
	if err := checkName("argument", name, maxArgName); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(name, "__"):
		return errorf("argument name %q begins with __, which marks hidden fields", name)
	case cKeywords[name]:
		return errorf("argument name %q is a keyword of C, so no BPF program in C could name it", name)
	case slices.Contains(others, name):
		return errorf("argument name %q is used twice", name)
	}
	return nil
}

// cKeywords are the keywords of C11 that are identifiers without a leading
// underscore (ISO/IEC 9899:2011, 6.4.1), and the keywords that compilers add by default.
var cKeywords = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range []string{
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
		"extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
		"short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
		"volatile", "while",
		"asm", "typeof", // of GNU C, which clang compiles by default
	} {
		m[k] = true
	}
	return m
}()
