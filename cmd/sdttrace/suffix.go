package main

import (
	"fmt"
	"strings"
)

// suffixes are names of files that only one verb, or one format, writes.
var suffixes = []struct{ suffix, verb, format, what string }{
	{".pb.gz", "profile", "pprof", "a profile for pprof"},
	{".pftrace", "timeline", "", "a timeline"},
	{".html", "page", "", "a page"},
	{".usdt", "record", "", "a recording"},
	{".json", "", "json", "JSON"},
}

// checkSuffix returns an error if the name of the file of --output says that it holds something else
// than what the verb writes.
func (f *traceFlags) checkSuffix(verb string) error {
	for _, s := range suffixes {
		switch {
		case !strings.HasSuffix(f.out, s.suffix):
		case s.verb != "" && s.verb != verb:
			return fmt.Errorf("-o %s is the name of %s, which sdttrace %s writes, and not sdttrace %s", f.out, s.what, s.verb, verb)
		case s.format != "" && f.format != s.format && len(f.formats) > 0:
			return fmt.Errorf("-o %s is the name of %s, and what is written is %s: name another file, or --format %s", f.out, s.what, f.format, s.format)
		}
	}
	return nil
}
