package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/grammar"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's program, in order. The last part, which shows
// something by them, follows.
var scripts = []string{"data", "format", "theme", "chart", "rate", "latency", "numbers", "flame", "literal", "parse", "condition", "filter", "table", "main"}

// program returns the page's program, which ends in some more parts.
func program(more ...string) ([]byte, error) {
	var script bytes.Buffer
	tables, err := json.Marshal(map[string]any{
		"maxInput": grammar.MaxInput, "maxDepth": grammar.MaxDepth, "maxOperands": grammar.MaxOperands, "maxPending": grammar.MaxPending, "maxString": grammar.MaxString,
		"symbols": grammar.Symbols, "sums": grammar.Sums, "products": grammar.Products, "mirrored": grammar.Mirrored, "taskKeys": grammar.TaskKeys,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&script, "\"use strict\";\nconst grammar = %s;\n", tables)
	for _, name := range append(scripts[:len(scripts):len(scripts)], more...) {
		b, err := assets.ReadFile("assets/" + name + ".js")
		if err != nil {
			return nil, err
		}
		script.Write(b)
	}
	return script.Bytes(), nil
}

// policyOf returns a policy that lets the program run and nothing be loaded except what
// allow adds, whatever events contain.
func policyOf(program []byte, allow string) string {
	sum := sha256.Sum256(program)
	return fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; %sbase-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]), allow)
}

// writeDocument writes the page with a program and data.
func writeDocument(w io.Writer, program []byte, policy string, data func(*bufio.Writer)) error {
	style, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return err
	}
	html, err := assets.ReadFile("assets/page.html")
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(strings.NewReplacer(
		"{{policy}}", policy,
		"{{style}}", string(style),
	).Replace(string(html)), "{{data}}")
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(before)
	data(out)
	out.WriteString("<script>")
	out.Write(program)
	out.WriteString("</script>")
	out.WriteString(after)
	return out.Flush()
}
