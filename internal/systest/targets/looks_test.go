package targets_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestLooks has the first look at interpreters that fire some probes only if they are asked to: the
// pairs that fire in any case are there, and sdttrace says what the others need.
func TestLooks(t *testing.T) {
	needs.Root(t)
	sdttrace := needs.Build(t, "cmd/sdttrace")
	t.Chdir(t.TempDir())
	for name, source := range map[string]string{
		"script.php": "<?php function f() { return 1; } f();",
		"script.rb":  "GC.start\ndef f; 1; end\nf",
		"asked.rb":   "TracePoint.new(:call, :return) {}.enable",
	} {
		if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command string
		says    []string
	}{
		{"/usr/bin/php8.2 script.php", []string{
			"php:function__entry, php:function__return did not fire: PHP fires it with USE_ZEND_DTRACE=1",
			"php:request__startup,php:request__shutdown: 1 pair",
		}},
		{"/usr/bin/env USE_ZEND_DTRACE=1 php8.2 script.php", []string{"php:function__entry,php:function__return: 2 pairs"}},
		{"/usr/bin/ruby --disable=gems script.rb", []string{
			"ruby:method__entry, ruby:method__return: since Ruby 2.5 it fires only while a TracePoint is enabled",
			"ruby:gc__mark__begin,ruby:gc__mark__end: ",
		}},
		{"/usr/bin/ruby --disable=gems -r ./asked.rb script.rb", []string{"ruby:method__entry,ruby:method__return: [1-9]"}},
	} {
		words := strings.Fields(c.command)
		if _, err := os.Stat(words[0]); err != nil {
			needs.Skip(t, "needs %s as Debian 12 has it", words[0])
		}
		provider := "php"
		if filepath.Base(words[0]) == "ruby" {
			provider = "ruby"
		}
		cmd := exec.Command(sdttrace, slices.Concat([]string{"page", provider, "-o", "page.html", "--"}, words)...)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "USE_ZEND_DTRACE=") })
		out, err := cmd.CombinedOutput()
		for _, want := range c.says {
			if err != nil || !regexp.MustCompile(want).Match(out) {
				t.Errorf("%s: %v, %s; want %s", c.command, err, out, want)
			}
		}
	}
}
