package selector

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// ByFunction reports whether s names functions, or instructions by their functions.
func (s *Selector) ByFunction() bool { return s.Kind.InFile() && !s.ByAddress && !s.ByLine }

// parseLine parses FILE:LINE, FILE:FIRST-LAST or FILE:*. ok is false if s.Function is none of
// these: the parts of names in C++ are separated by two colons.
func (s *Selector) parseLine() (file string, ok bool, err error) {
	colon := lastColon(s.Function)
	if !isLine(s.Function, colon) {
		return "", false, nil
	}
	file = strings.TrimPrefix(s.Function[:colon], "./")
	if lines := s.Function[colon+1:]; lines == "*" {
		s.Line, s.LastLine = 1, math.MaxInt
	} else {
		first, last, several := strings.Cut(lines, "-")
		if !several {
			last = first
		}
		s.Line, err = strconv.Atoi(first)
		if err == nil {
			s.LastLine, err = strconv.Atoi(last)
		}
		if err != nil || s.Line < 1 || s.LastLine < s.Line {
			return "", false, fmt.Errorf("%q is no line: want %s:PATH:FILE:LINE, FIRST-LAST for several lines, or '*' for all", lines, s.Kind)
		}
	}
	if s.Kind.IsReturn() {
		return "", false, fmt.Errorf("a line does not return: want uprobe:PATH:FILE:LINE, or uretprobe:PATH:FUNC")
	}
	s.ByLine = true
	return file, true, nil
}

// isLine reports whether a line of a file, or some, stand behind the colon at an index.
func isLine(s string, colon int) bool {
	return colon > 0 && s[colon-1] != ':' && (s[colon+1:] == "*" || colon+1 < len(s) && strings.Trim(s[colon+1:], "0123456789-") == "")
}

// MatchFile reports whether s names lines of the source file: by the end of its path.
func (s *Selector) MatchFile(file string) bool {
	if !s.ByLine {
		return false
	}
	for end := file; ; {
		if s.file.match(end) {
			return true
		}
		_, after, ok := strings.Cut(end, "/")
		if !ok {
			return false
		}
		end = after
	}
}

// LiteralFile returns what s has of the path of a source file if that has no wildcards.
func (s *Selector) LiteralFile() (file string, ok bool) {
	return s.file.literal, s.ByLine && s.file.tokens == nil
}

// LineName returns the name of a line of a source file that s names, FILE:LINE as it names one.
func (s *Selector) LineName(file string, line int) string {
	name, ok := s.LiteralFile()
	if !ok {
		name = path.Base(file)
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// MatchLine reports whether s names the line that another selector gave a name by LineName.
func (s *Selector) MatchLine(name string) bool {
	colon := strings.LastIndexByte(name, ':')
	if colon < 0 || !s.MatchFile(name[:colon]) {
		return false
	}
	line, err := strconv.Atoi(name[colon+1:])
	return err == nil && s.Line <= line && line <= s.LastLine
}

// AtLine returns the selector of another line of the file.
func (s *Selector) AtLine(line int) string {
	return fmt.Sprintf("%s:%s:%s:%d", s.Kind, s.Path, s.Function[:lastColon(s.Function)], line)
}
