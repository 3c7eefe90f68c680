package format

import "strings"

// javaName returns a class, or the parameters of a method, as Java's source has them: "a/b/C" and
// "(I[La/b/C;)V", see "Descriptors" in chapter 4.3 of the JVM's specification. Other text stays.
func javaName(s string) string {
	if !strings.HasPrefix(s, "(") {
		return strings.ReplaceAll(s, "/", ".")
	}
	var all []string
	for rest := s[1:]; !strings.HasPrefix(rest, ")"); {
		plain := strings.TrimLeft(rest, "[")
		dims := strings.Repeat("[]", len(rest)-len(plain))
		if plain == "" {
			return s
		}
		name, ok := javaTypes[plain[0]]
		rest = plain[1:]
		if plain[0] == 'L' {
			name, rest, ok = strings.Cut(rest, ";")
			name = strings.ReplaceAll(name, "/", ".")
		}
		if !ok {
			return s
		}
		all = append(all, name+dims)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

var javaTypes = map[byte]string{
	'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int", 'J': "long", 'S': "short", 'Z': "boolean",
}
