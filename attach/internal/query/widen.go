package query

import "github.com/go-usdt/usdt/reader"

// Join returns what stands for the values of two sites, if they can be of one kind. Integers
// of different signs are signed together; a constant that is not negative has either sign.
func (in *Input) Join(other *Input) (both Input, ok bool) {
	switch {
	case in.Meaning != other.Meaning || in.Group != other.Group:
		return *in, false
	case in.Kind != other.Kind && !(in.isInteger() && other.isInteger()):
		return *in, false
	case in.hasEitherSign():
		return *other, true
	case in.Kind == other.Kind || other.hasEitherSign():
		return *in, true
	}
	both = *in
	both.Kind = reader.Int
	return both, true
}

func (in *Input) isInteger() bool {
	return in.Kind == reader.Int || in.Kind == reader.Uint
}

func (in *Input) hasEitherSign() bool {
	return in.Source == InputConstant && in.isInteger() && int64(in.Value) >= 0
}

// Widen gives an integer the kind that all sites have in common.
func (in *Input) Widen(common *Input) {
	if in.Source != InputMissing && in.isInteger() && in.Kind != common.Kind {
		in.Kind, in.Widened = common.Kind, !in.hasEitherSign()
	}
}

// WidenFloat makes a floating-point number one of 8 bytes: what is added up at the first sites is
// of that size, whatever sites are found later.
func (in *Input) WidenFloat() {
	if in.Kind == reader.Float && in.Size == 4 {
		in.Size, in.Widened = 8, true
	}
}

// SiteSize returns how many bytes the number has at the site.
func (in *Input) SiteSize() uint8 {
	if in.Kind == reader.Float && in.Widened {
		return 4
	}
	return in.Size
}

// Signed reports whether the site has a signed number.
func (in *Input) Signed() bool { return (in.Kind == reader.Int) != in.Widened }

// Exceeds reports whether a value, extended to 64 bits by the sign that it has at the site, is
// no number of the common kind: one of 2^63 and more is not signed, one less than 0 not
// unsigned.
func (in *Input) Exceeds(bits uint64) bool { return in.MayExceed() && int64(bits) < 0 }

func (in *Input) MayExceed() bool {
	return in.Widened && in.isInteger() && (in.Size == 8 || in.Kind == reader.Uint)
}
