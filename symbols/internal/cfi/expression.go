package cfi

import "github.com/go-usdt/usdt/symbols/internal/dwarfop"

const (
	// maxOperations is the number of operations of an expression that are run.
	maxOperations = 256
	// maxDepth is the number of values on its stack.
	maxDepth = 32
)

// evaluate returns the value of an expression. hasCFA says that cfa is its first
// value.
func evaluate(code []byte, regs *Registers, stack *Stack, cfa uint64, hasCFA bool) (uint64, bool) {
	var values [maxDepth]uint64
	n := 0 // values
	if hasCFA {
		values[0], n = cfa, 1
	}
	b := cursor{data: code}
	for range maxOperations {
		if b.failed {
			return 0, false
		}
		if !b.more() {
			return values[max(n-1, 0)], n > 0
		}
		op := b.u8()
		pops, pushes := arity(op)
		if pops < 0 || n < pops || n-pops+pushes > maxDepth {
			return 0, false
		}
		var x, y uint64 // the last value, and the one before
		if n > 0 {
			x = values[n-1]
		}
		if n > 1 {
			y = values[n-2]
		}
		n -= pops
		v, ok := uint64(0), true
		switch {
		case op >= dwarfop.Lit0 && op < dwarfop.Lit0+32:
			v = uint64(op - dwarfop.Lit0)
		case op >= dwarfop.Breg0 && op < dwarfop.Breg0+32:
			v = regs[op-dwarfop.Breg0] + uint64(b.sleb())
		default:
			switch op {
			case dwarfop.Addr, dwarfop.Const8u, dwarfop.Const8s:
				v = b.u64()
			case dwarfop.Const1u:
				v = uint64(b.u8())
			case dwarfop.Const1s:
				v = uint64(int64(int8(b.u8())))
			case dwarfop.Const2u:
				v = uint64(b.u16())
			case dwarfop.Const2s:
				v = uint64(int64(int16(b.u16())))
			case dwarfop.Const4u:
				v = uint64(b.u32())
			case dwarfop.Const4s:
				v = uint64(int64(int32(b.u32())))
			case dwarfop.Constu:
				v = b.uleb()
			case dwarfop.Consts:
				v = uint64(b.sleb())
			case dwarfop.Dup:
				values[n], v = x, x
				n++
				pushes--
			case dwarfop.Over:
				v = y
			case dwarfop.Pick:
				i := int(b.u8())
				if ok = i < n; ok {
					v = values[n-1-i]
				}
			case dwarfop.Swap:
				values[n], v = x, y
				n++
				pushes--
			case dwarfop.Rot:
				z := values[n]
				values[n], values[n+1], v = x, z, y
				n += 2
				pushes -= 2
			case dwarfop.Deref:
				v, ok = stack.Word(x)
			case dwarfop.DerefSize:
				size := int(b.u8())
				if ok = size >= 1 && size <= 8; ok {
					v, ok = stack.uint(x, size)
				}
			case dwarfop.Abs:
				if v = x; int64(x) < 0 {
					v = -x
				}
			case dwarfop.Neg:
				v = -x
			case dwarfop.Not:
				v = ^x
			case dwarfop.PlusUconst:
				v = x + b.uleb()
			case dwarfop.Bregx:
				reg := b.uleb()
				off := uint64(b.sleb())
				if ok = reg < PC; ok {
					v = regs[reg] + off
				}
			case dwarfop.Bra, dwarfop.Skip:
				distance := int(int16(b.u16()))
				to := b.off + distance
				if op == dwarfop.Skip || x != 0 {
					if ok = to >= 0 && to <= len(code); ok {
						b.off = to
					}
				}
			case dwarfop.Drop, dwarfop.Nop:
			default:
				v = binaryOp(op, y, x)
			}
		}
		if !ok {
			return 0, false
		}
		if pushes > 0 {
			values[n] = v
			n++
		}
	}
	return 0, false
}

// arity returns how many values an operation takes and makes, -1 if it is not known.
func arity(op uint8) (pops, pushes int) {
	switch {
	case op >= dwarfop.Lit0 && op < dwarfop.Lit0+32, op >= dwarfop.Breg0 && op < dwarfop.Breg0+32, op >= dwarfop.Const1u && op <= dwarfop.Consts:
		return 0, 1
	}
	switch op {
	case dwarfop.Addr, dwarfop.Bregx, dwarfop.Pick:
		return 0, 1
	case dwarfop.Dup:
		return 1, 2
	case dwarfop.Over:
		return 0, 1
	case dwarfop.Swap:
		return 2, 2
	case dwarfop.Rot:
		return 3, 3
	case dwarfop.Deref, dwarfop.DerefSize, dwarfop.Abs, dwarfop.Neg, dwarfop.Not, dwarfop.PlusUconst:
		return 1, 1
	case dwarfop.Drop, dwarfop.Bra:
		return 1, 0
	case dwarfop.Nop, dwarfop.Skip:
		return 0, 0
	case dwarfop.And, dwarfop.Minus, dwarfop.Mul, dwarfop.Or, dwarfop.Plus, dwarfop.Shl, dwarfop.Shr, dwarfop.Shra, dwarfop.Xor, dwarfop.Eq, dwarfop.Ge, dwarfop.Gt, dwarfop.Le, dwarfop.Lt, dwarfop.Ne:
		return 2, 1
	}
	return -1, 0
}

// binaryOp returns x op y.
func binaryOp(op uint8, x, y uint64) uint64 {
	truth := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	switch op {
	case dwarfop.And:
		return x & y
	case dwarfop.Minus:
		return x - y
	case dwarfop.Mul:
		return x * y
	case dwarfop.Or:
		return x | y
	case dwarfop.Plus:
		return x + y
	case dwarfop.Shl:
		return x << y
	case dwarfop.Shr:
		return x >> y
	case dwarfop.Shra:
		return uint64(int64(x) >> y)
	case dwarfop.Xor:
		return x ^ y
	case dwarfop.Eq:
		return truth(x == y)
	case dwarfop.Ge:
		return truth(int64(x) >= int64(y))
	case dwarfop.Gt:
		return truth(int64(x) > int64(y))
	case dwarfop.Le:
		return truth(int64(x) <= int64(y))
	case dwarfop.Lt:
		return truth(int64(x) < int64(y))
	}
	return truth(x != y)
}
