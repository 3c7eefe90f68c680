package selector

import (
	"fmt"
	"strconv"
	"strings"
)

// parseKernel parses FUNC, MODULE:FUNC and either with @ADDRESS.
func (s *Selector) parseKernel(rest string) (err error) {
	s.Function = rest
	if colon := lastColon(rest); colon >= 0 {
		s.Provider, s.Function = rest[:colon], rest[colon+1:]
		if s.Provider == "" {
			return fmt.Errorf("the module is empty: want %s:MODULE:FUNC, with vmlinux for the kernel itself", s.Kind)
		}
	}
	if name, address, ok := strings.Cut(s.Function, "@"); ok {
		if s.Function = name; !strings.HasPrefix(address, "0x") {
			return fmt.Errorf("%q is not an address: want %s:FUNC@0x and up to 16 hexadecimal digits", address, s.Kind)
		}
		if s.Address, err = strconv.ParseUint(address, 0, 64); err != nil || s.Address == 0 {
			return fmt.Errorf("%q is not an address: want %s:FUNC@0x and up to 16 hexadecimal digits", address, s.Kind)
		}
	}
	if s.Function == "" {
		return fmt.Errorf("the function is empty: want %s:FUNC", s.Kind)
	}
	return nil
}

func (s *Selector) kernelString() string {
	out := s.Kind.String() + ":"
	if s.Provider != "" {
		out += s.Provider + ":"
	}
	if out += s.Function; s.Address != 0 {
		out += fmt.Sprintf("@%#x", s.Address)
	}
	return out
}

// MatchKernel reports whether s selects the function of the kernel, or of a module.
func (s *Selector) MatchKernel(module, function string, address uint64) bool {
	return s.Kind.InKernel() && s.function.match(function) && (s.Provider == "" || s.provider.match(module)) && (s.Address == 0 || s.Address == address)
}

// KernelPrefix returns how the names of all functions begin that s selects.
func (s *Selector) KernelPrefix() string { return s.function.literal + s.function.prefix } // one of them

// LiteralKernel returns the only function of the kernel that s names, if it has no wildcards.
func (s *Selector) LiteralKernel() (function string, ok bool) {
	return s.function.literal, s.Kind.InKernel() && s.function.tokens == nil
}

// NearKernel returns the distance of s from naming the function of the kernel; see Near.
func (s *Selector) NearKernel(function string) (distance int, ok bool) {
	if _, literal := s.LiteralKernel(); !literal {
		return 0, false
	}
	return s.function.near(function)
}

// SplitAddress splits NAME@ADDRESS, which names one of several functions of the kernel.
func SplitAddress(name string) (function string, address uint64) {
	function, text, ok := strings.Cut(name, "@")
	if !ok {
		return name, 0
	}
	address, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return name, 0
	}
	return function, address
}
