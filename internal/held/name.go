package held

import "strings"

// ShortType returns the name of a type as fmt writes it for %T: without the directories of packages.
func ShortType(name string) string {
	var out strings.Builder
	for name != "" {
		n := strings.IndexAny(name, "*[]{}(),; ")
		if n < 0 {
			n = len(name)
		}
		out.WriteString(name[:n][strings.LastIndexByte(name[:n], '/')+1:])
		if name = name[n:]; name != "" {
			out.WriteByte(name[0])
			name = name[1:]
		}
	}
	return out.String()
}
