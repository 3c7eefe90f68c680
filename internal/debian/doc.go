// Package debian downloads packages of any Debian release and architecture with
// apt, which verifies them, and without changing the machine that it runs on.
package debian
