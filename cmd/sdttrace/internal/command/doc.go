// Package command starts a program that sdttrace traces, holds it where it gets new code until
// its probes are attached to, and ends it.
package command
