package selector

import (
	"fmt"
	"strconv"
	"strings"
)

// parseFunction parses what follows the path in a selector of functions: FUNC,
// FUNC+OFFSET, an ADDRESS or FILE:LINE. It returns the pattern of the function's name, or
// that of the source file's path.
func (s *Selector) parseFunction() (function, file string, err error) {
	function = s.Function
	if file, ok, err := s.parseLine(); ok || err != nil {
		return "", file, err
	}
	if strings.HasPrefix(function, "0x") {
		if s.Address, err = strconv.ParseUint(function, 0, 64); err != nil {
			return function, "", fmt.Errorf("%q is not an address: want 0x and up to 16 hexadecimal digits", function)
		}
		s.ByAddress = true
	} else if name, offset, ok := cutOffset(function); ok {
		function, s.Offset = name, offset
	}
	if s.Kind.IsReturn() && (s.ByAddress || s.Offset != 0) {
		return function, "", fmt.Errorf("a function is returned from as a whole: want uretprobe:PATH:FUNC")
	}
	return function, "", nil
}

// cutOffset splits FUNC+0x1f or FUNC+31. In C++ operators, no number follows the '+'.
func cutOffset(s string) (function string, offset uint64, ok bool) {
	plus := strings.LastIndexByte(s, '+')
	if plus <= 0 || s[plus-1] == '\\' || plus+1 == len(s) || s[plus+1] < '0' || s[plus+1] > '9' {
		return s, 0, false
	}
	offset, err := strconv.ParseUint(s[plus+1:], 0, 64)
	if err != nil {
		return s, 0, false
	}
	return s[:plus], offset, true
}
