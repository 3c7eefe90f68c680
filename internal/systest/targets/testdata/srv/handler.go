package main

import "strings"

// request is what a client asks for.
type request struct {
	path string
	host string
}

// status is what an answer begins with.
type status int

const (
	found   status = 200
	missing status = 404
)

func (s status) String() string {
	if s == found {
		return "200 OK"
	}
	return "404 Not Found"
}

// answer is what a client gets.
type answer struct {
	status status
	body   string
}

func (a *answer) size() int { return len(a.status.String()) + len(a.body) }

// handle answers a request, and returns the size of the answer.
//
// docs/tracing.md traces line 42, where both arguments are in use, and a
// range of lines in which the whole function is.
//
//go:noinline
func handle(req *request, n int) int {
	a := answer{status: missing}
	if strings.HasPrefix(req.path, "/item/") {
		a.body = strings.Repeat(req.path, n)
		a.status = found
	}
	return a.size()
}
