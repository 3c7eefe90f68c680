// Package shell writes commands as a shell takes them.
package shell

import "strings"

// Quote quotes s so that a shell takes it as one word.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+,./:@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Line returns the command that sdttrace was called by as a shell takes it.
func Line(args []string) string { return join("sdttrace", args[1:]) }

// join returns a command that is quoted already with arguments.
func join(command string, args []string) string {
	for _, a := range args {
		command += " " + Quote(a)
	}
	return command
}
