// Package local traces the processes that record events themselves, into memory that they share with
// this one: which processes offer that, which of their sites are watched, and when these are gone.
package local
