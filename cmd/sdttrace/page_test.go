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
	parts, err := pageParts(page)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), bytes.Join(parts, nil), 0o600))
}

// pageParts returns what a page holds: first the summary, in JSON, then parts of the events.
func pageParts(page []byte) (parts [][]byte, err error) {
	for _, data := range pageData.FindAllSubmatch(page, -1) {
		zipped, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data[1])))
		if err != nil {
			return nil, err
		}
		part, err := io.ReadAll(zipped)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}
