// Package debian downloads packages of any Debian release and architecture from
// the mirror that this machine uses, with apt, which verifies them, and without
// changing the machine.
package debian
