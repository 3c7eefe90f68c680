package format

import (
	"debug/elf"
	"errors"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// TestUnlike says which names in conditions are not what people are shown by them.
func TestUnlike(t *testing.T) {
	probe := func(provider, name, form string) attach.Site {
		return attach.Site{Probe: reader.Probe{Note: notes.Note{Provider: provider, Name: name, Args: form}, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64}}
	}
	plan := attach.Plan{
		probe("hotspot", "method__entry", "-8@%rdi 8@%rsi -4@%edx 8@%rcx -4@%r8d 8@%r9 -4@%eax"),
		probe("libstdcxx", "throw", "8@%rdi 8@%rsi"),
		probe("postgresql", "lock__wait__start", "4@%edi 4@%esi 4@%edx 2@%cx 1@%r8b -4@%r9d"),
		probe("own", "method", "8@%rdi"),
	}
	for condition, want := range map[string]string{
		`method == "price"`:                     "conditions compare method alone, which is shown together with others: compare class, method, signature",
		`class ~ "java.*"`:                      "~ compares class as the JVM has it, such as java/lang/String",
		`type ~ 'method "class"' || thread > 1`: "~ compares type as the compiler writes it, such as St13runtime_error",
		`class == "java.lang.String"`:           "",
		`comm == "method"`:                      "",
		`comm == "a \" method"`:                 "",
		`mode == "ShareLock"`:                   "",
	} {
		if got := strings.Join(Unlike(prototype.Known(), plan, condition), "|"); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
	if got := Unlike(nil, plan, "method == 1"); got != nil {
		t.Errorf("without a table: %q", got)
	}
}

// TestLacking says what a name stands for that errors take for an argument's.
func TestLacking(t *testing.T) {
	for text, want := range map[string]string{
		"aggregation: postgresql:lock__wait__done has no argument statement: it has field1":            "statement is status of the last postgresql:statement__status of the same process, and no argument: ",
		"column 1: postgresql:lock__wait__start has no argument waits_for: it has field1":              "waits_for is a text that is made of type, field2, field1, field3, field4: name these",
		"postgresql:query__done has no argument waits_for, nor has postgresql:lock__wait__start: both": "waits_for is a text that is made of type, field2, field1, field3, field4: name these",
		"postgresql:lock__wait__start has no argument nothing: it has field1":                          "",
		"own:probe has no argument statement: it has none":                                             "",
		"no probe matches": "",
	} {
		if got := Lacking(prototype.Known(), errors.New(text)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
