package documents_test

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// public are the packages that users import.
var public = []string{".", "notes", "elfgen", "reader", "event", "event/args", "total", "provider", "provider/providertest", "attach", "attach/collection",
	"contrib/grpc", "contrib/nethttp", "contrib/otel", "contrib/slog", "contrib/sql"}

// documented returns a package as go doc reads it.
func documented(t *testing.T, dir string) *doc.Package {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_other.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(fset, path, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/go-usdt/usdt/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// notLinked matches text that looks like a link to a declaration, but is plain
// text because the declaration does not exist.
var notLinked = regexp.MustCompile(`\[\*?(?:\w+\.)*[A-Z]\w*\]`)

// plain returns the text of a comment that is neither code nor a link.
func plain(texts []comment.Text) string {
	var b strings.Builder
	for _, x := range texts {
		switch x := x.(type) {
		case comment.Plain:
			b.WriteString(string(x))
		case comment.Italic:
			b.WriteString(string(x))
		default:
			b.WriteString(" ")
		}
	}
	return b.String()
}

// checkComment checks that a declaration has a comment whose links resolve.
func checkComment(t *testing.T, p *doc.Package, name, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s %s has no comment", p.ImportPath, name)
	}
	var check func(blocks []comment.Block)
	check = func(blocks []comment.Block) {
		for _, b := range blocks {
			var texts []comment.Text
			switch b := b.(type) {
			case *comment.Paragraph:
				texts = b.Text
			case *comment.Heading:
				texts = b.Text
			case *comment.List:
				for _, item := range b.Items {
					check(item.Content)
				}
			}
			for _, l := range notLinked.FindAllString(plain(texts), -1) {
				t.Errorf("%s %s: the link %s leads nowhere", p.ImportPath, name, l)
			}
		}
	}
	check(p.Parser().Parse(text).Content)
}

// TestDocComments checks that every exported declaration of the public packages
// has a comment, and that links in comments lead to declarations.
func TestDocComments(t *testing.T) {
	for _, dir := range public {
		p := documented(t, dir)
		checkComment(t, p, "package", p.Doc)
		values := func(all []*doc.Value) {
			for _, v := range all {
				checkComment(t, p, strings.Join(v.Names, ", "), v.Doc+fieldDocs(v.Decl))
			}
		}
		functions := func(of string, all []*doc.Func) {
			for _, f := range all {
				if f.Name == "String" || f.Name == "Error" || f.Name == "Unwrap" {
					continue
				}
				checkComment(t, p, of+f.Name, f.Doc)
			}
		}
		values(p.Consts)
		values(p.Vars)
		functions("", p.Funcs)
		for _, typ := range p.Types {
			checkComment(t, p, typ.Name, typ.Doc)
			if fields := fieldDocs(typ.Decl); fields != "" {
				checkComment(t, p, "a field of "+typ.Name, fields)
			}
			values(typ.Consts)
			values(typ.Vars)
			functions("", typ.Funcs)
			functions(typ.Name+".", typ.Methods)
		}
	}
}

// fieldDocs returns the comments within a declaration.
func fieldDocs(decl *ast.GenDecl) string {
	var b strings.Builder
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			b.WriteString(n.Doc.Text() + n.Comment.Text())
		case *ast.ValueSpec:
			b.WriteString(n.Doc.Text() + n.Comment.Text())
		}
		return true
	})
	return b.String()
}
