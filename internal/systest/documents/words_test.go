package documents_test

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// turned finds sentences, items and cells that do not begin with their noun.
var turned = regexp.MustCompile(`(?:^|[.:;?!]["”)]? |(?:^| )[-*|] )(Of|By|Without|What|Who|Whoever|Whom|Whose) `)

// stilted finds words that stand where a name or a plain word belongs: except, also, reports,
// is full.
var stilted = regexp.MustCompile(`\b[Tt]hose (?:that|who|which|whose)\b|\b[Ww]hat is of\b|\b[Bb]ut for\b|, too ?(?:[.,;:)|]|$)|\bkernels? tells?\b|\b[Nn]o room\b` +
	`|\bfor want of\b|\b[Ss]uch as are\b|\bof those of\b|\b[Nn](?:one|obody) but\b|\bwhat there (?:is|are) (?:of|none|most)\b|\bwhat (?:is|are) none\b|, if so\b`)

// wrongWords returns the words that turned and stilted find in a paragraph. Questions may begin
// with such a word, and so may a comment on a declaration with that name.
func wrongWords(paragraph, name string) []string {
	text := strings.Join(strings.Fields(paragraph), " ")
	found := stilted.FindAllString(text, -1)
	for _, m := range turned.FindAllStringSubmatchIndex(text, -1) {
		end := strings.IndexAny(text[m[3]:], ".?!")
		if word := text[m[2]:m[3]]; word != name && (end < 0 || text[m[3]+end] != '?') {
			found = append(found, word)
		}
	}
	return found
}

// declared returns the names of the declarations that comments describe.
func declared(f *ast.File) map[*ast.CommentGroup]string {
	names := map[*ast.CommentGroup]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Doc] = n.Name.Name
		case *ast.TypeSpec:
			names[n.Doc] = n.Name.Name
		case *ast.Field:
			if len(n.Names) > 0 {
				names[n.Doc] = n.Names[0].Name
			}
		}
		return true
	})
	return names
}

// TestWordsFound checks what TestWords finds, and what it lets pass.
func TestWordsFound(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       int
	}{
		{"Of a group the\nkey is kept. What is lost counts; without it nothing does.", "", 2},
		{"Some end: those that live go on, too, but for one. No room is left.", "", 4},
		{"- Without keys: one. The kernel tells. What is of one time comes by day.", "", 4},
		{"A kill for want of memory ends it, if so. Such as are left have those of files.", "", 3},
		{"The names of those of files are shown, and what there is of it. None but root may.", "", 3},
		{"Of returns a table. What else? It is large, but forms no roommates, too few.", "Of", 0},
		{"Whatever fires is read. Groups without keys have room, in what is offered.", "", 0},
	} {
		if found := wrongWords(c.text, c.name); len(found) != c.want {
			t.Errorf("%q found in %q, want %d", found, c.text, c.want)
		}
	}
}

// TestWords checks that the sentences of comments and documents begin with their nouns, and say
// things plainly.
func TestWords(t *testing.T) {
	check := func(file, text, name string) {
		for _, paragraph := range strings.Split(text, "\n\n") {
			if found := wrongWords(paragraph, name); len(found) > 0 {
				t.Errorf("%s: write %q in other words: %s", file, found, strings.TrimSpace(paragraph))
			}
		}
	}
	for file, text := range all(t) {
		check(file, fence.ReplaceAllString(text, ""), "")
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file := strings.TrimPrefix(path, root)
		f := parsedFile(t, file)
		names := declared(f)
		for _, c := range f.Comments {
			check(file, c.Text(), names[c])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
