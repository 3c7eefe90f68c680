package main

import (
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/grammar"
)

// TestTaskKeysHelp checks that help names every name for what is known of the task that fires.
func TestTaskKeysHelp(t *testing.T) {
	_, conditions := topic("conditions")
	_, arguments := topic("arguments")
	for _, key := range grammar.TaskKeys {
		for page, text := range map[string]string{"help conditions": conditions, "help arguments": arguments, "count --help": countVerb.about} {
			if !strings.Contains(text, key) {
				t.Errorf("%s does not name %s", page, key)
			}
		}
	}
}
