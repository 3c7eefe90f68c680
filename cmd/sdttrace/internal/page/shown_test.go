package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/symbols"
)

// TestShown checks that nothing that a page decodes has characters that a browser would obey.
func TestShown(t *testing.T) {
	const evil = "x\n\x1b]0;\u202e\u200b\u0085\u2066\U000e0001"
	p := New(text)
	stack := func() *event.Stack {
		return decode.SavedStack([]uint64{1}, [][]symbols.Frame{{{Func: evil, File: evil, Module: evil}}}, nil)
	}
	one := &event.Event{Time: time.Unix(1e9, 0), Comm: evil, Provider: evil, Name: evil, Stack: stack(), Args: []event.Arg{
		{Name: evil, Value: evil}, {Name: "s" + evil, Value: event.Struct{{Name: evil, Value: evil}, {Name: "n" + evil, Value: uint64(1)}}},
	}}
	p.Add(one)
	p.AddPair(one, one, time.Second, "", 0)
	var out bytes.Buffer
	if err := p.Write(&out, Summary{Command: evil, Version: evil}); err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`base64" class="(\w+)">([A-Za-z0-9+/=]+)<`).FindAllStringSubmatch(out.String(), -1)
	if len(parts) != 2 {
		t.Fatalf("the page has %d parts", len(parts))
	}
	for _, part := range parts {
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(part[2])))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		checkShown(t, part[1], data[bytes.IndexByte(data, '{'):])
	}
	update, err := p.Update(Summary{Command: evil}, false, Position{})
	if err != nil {
		t.Fatal(err)
	}
	checkShown(t, "an update", update.head)
}

// checkShown checks the strings of the JSON at the beginning of data.
func checkShown(t *testing.T, what string, data []byte) {
	t.Helper()
	var v any
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&v); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	found := 0
	var walk func(v any)
	check := func(s string) {
		if strings.Contains(s, `\u202e`) {
			found++
		}
		for _, r := range s {
			if !strconv.IsPrint(r) {
				t.Errorf("%s has %q", what, s)
				break
			}
		}
	}
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			check(v)
		case []any:
			for _, v := range v {
				walk(v)
			}
		case map[string]any:
			for k, v := range v {
				check(k)
				walk(v)
			}
		}
	}
	walk(v)
	if found == 0 {
		t.Errorf("%s has none of the names: %.300s", what, data)
	}
}
