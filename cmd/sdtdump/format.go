package main

import (
	"io"

	"github.com/go-usdt/usdt/reader"
)

// printer writes probes in one format.
type printer interface {
	// probe writes p. The error is that of writing.
	probe(p *reader.Probe) error
	// flush writes what is left.
	flush() error
}

// formats are the values of --format.
var formats = map[string]func(io.Writer, *options) printer{
	"text": newText,
	"json": newJSON,
}

func formatNames() []string {
	return []string{"text", "json"}
}
