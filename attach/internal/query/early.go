package query

import "github.com/go-usdt/usdt/attach/internal/operand"

// FiltersEarly reports whether the condition is tested before anything is read: it
// compares nothing but what registers hold and what is known of the task. An event that
// does not pass costs least then. Starts and ends are matched all the same, so theirs is
// tested later.
func (s *Signature) FiltersEarly() bool {
	if s.Aggregate != nil && s.Aggregate.Role != RoleNone {
		return false
	}
	for i := range s.Inputs {
		switch in := &s.Inputs[i]; in.Source {
		case InputConstant, InputRegister:
		case InputOperand:
			if s.Operands[in.Index].Kind == operand.Memory {
				return false
			}
		default:
			if !in.Source.ofTask() {
				return false
			}
		}
	}
	return true
}

// NamesSite reports whether the code needs to know which site fired: a record says so,
// and so may a key, or a group's stack.
func (s *Signature) NamesSite() bool {
	if s.Aggregate == nil || s.Aggregate.Whole {
		return true
	}
	for in := range s.Aggregate.Inputs {
		if in.Source == InputProbe || in.Source == InputStack {
			return true
		}
	}
	return false
}

// Filters reports whether a condition, or sampling, may reject an event. A start is
// kept even then.
func (s *Signature) Filters() bool {
	if s.Aggregate == nil || s.Aggregate.Role == RoleNone {
		return s.Condition != nil || s.Sample > 1
	}
	return s.Aggregate.Role == RoleEnd
}
