package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"os"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

var pageData = regexp.MustCompile(`<script type="application/gzip;base64"[^>]*>([^<]*)</script>`)

// unpack is "unpack PAGE FILE": it writes what a page holds to the file.
func unpack(ts *testscript.TestScript, _ bool, args []string) {
	page, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	var all []byte
	for _, data := range pageData.FindAllSubmatch(page, -1) {
		zipped, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data[1])))
		ts.Check(err)
		some, err := io.ReadAll(zipped)
		ts.Check(err)
		all = append(all, some...)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), all, 0o600))
}
