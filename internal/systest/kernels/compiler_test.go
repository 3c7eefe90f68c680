package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// copier is a toolchain whose compiler copies its input.
var copier = toolchain{commands: map[string][]string{"gcc": {"cp"}}}

func TestCompile(t *testing.T) {
	contents := []byte("int x; \x00\xff")
	for name, tt := range map[string]struct {
		request report.Compile
		code    int
		want    string // in what the compiler says
		file    []byte
	}{
		"a file that is sent": {report.Compile{Command: []string{"gcc", report.SentFile + "1a.c", report.OutputFile}, Files: map[string][]byte{"1a.c": contents}}, 0, "", contents},
		"an error":            {report.Compile{Command: []string{"gcc", report.SourceFile + "missing.c", report.OutputFile}}, 1, "missing.c", nil},
		"no output":           {report.Compile{Command: []string{"gcc", "--help"}}, 0, "Usage", nil},
		"another command":     {report.Compile{Command: []string{"rm", "-r", "."}}, 1, `asks for the compiler "rm"`, nil},
	} {
		var console bytes.Buffer
		tt.request.ID = 7
		copier.answer(&console, &tt.request)
		var reply report.Compiled
		if err := json.Unmarshal(console.Bytes(), &reply); err != nil || !strings.HasSuffix(console.String(), "}\n") {
			t.Errorf("%s: %v in the answer %q, want a line of JSON", name, err, console.String())
			continue
		}
		file, err := io.ReadAll(flate.NewReader(bytes.NewReader(reply.File)))
		if err != nil && tt.file != nil || !bytes.Equal(file, tt.file) {
			t.Errorf("%s: file %q (%v), want %q", name, file, err, tt.file)
		}
		if reply.ID != 7 || reply.Code != tt.code || !strings.Contains(reply.Output, tt.want) {
			t.Errorf("%s: answer %d has code %d and output %q, want 7, %d and %q", name, reply.ID, reply.Code, reply.Output, tt.code, tt.want)
		}
	}
}
