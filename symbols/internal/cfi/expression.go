package cfi

const (
	// maxOperations is the number of operations of an expression that are run.
	maxOperations = 256
	// maxDepth is the number of values on its stack.
	maxDepth = 32
)

// Operations of expressions (DWARF 5, section 7.7.1) that compilers use for frames.
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opMinus      = 0x1c
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opReg0       = 0x50
	opBreg0      = 0x70
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
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
		case op >= opLit0 && op < opLit0+32:
			v = uint64(op - opLit0)
		case op >= opBreg0 && op < opBreg0+32:
			v = regs[op-opBreg0] + uint64(b.sleb())
		default:
			switch op {
			case opAddr, opConst8u, opConst8s:
				v = b.u64()
			case opConst1u:
				v = uint64(b.u8())
			case opConst1s:
				v = uint64(int64(int8(b.u8())))
			case opConst2u:
				v = uint64(b.u16())
			case opConst2s:
				v = uint64(int64(int16(b.u16())))
			case opConst4u:
				v = uint64(b.u32())
			case opConst4s:
				v = uint64(int64(int32(b.u32())))
			case opConstu:
				v = b.uleb()
			case opConsts:
				v = uint64(b.sleb())
			case opDup:
				values[n], v = x, x
				n++
				pushes--
			case opOver:
				v = y
			case opPick:
				i := int(b.u8())
				if ok = i < n; ok {
					v = values[n-1-i]
				}
			case opSwap:
				values[n], v = x, y
				n++
				pushes--
			case opRot:
				z := values[n]
				values[n], values[n+1], v = x, z, y
				n += 2
				pushes -= 2
			case opDeref:
				v, ok = stack.Word(x)
			case opDerefSize:
				size := int(b.u8())
				if ok = size >= 1 && size <= 8; ok {
					v, ok = stack.uint(x, size)
				}
			case opAbs:
				if v = x; int64(x) < 0 {
					v = -x
				}
			case opNeg:
				v = -x
			case opNot:
				v = ^x
			case opPlusUconst:
				v = x + b.uleb()
			case opBregx:
				reg := b.uleb()
				off := uint64(b.sleb())
				if ok = reg < PC; ok {
					v = regs[reg] + off
				}
			case opBra, opSkip:
				distance := int(int16(b.u16()))
				to := b.off + distance
				if op == opSkip || x != 0 {
					if ok = to >= 0 && to <= len(code); ok {
						b.off = to
					}
				}
			case opDrop, opNop:
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
	case op >= opLit0 && op < opLit0+32, op >= opBreg0 && op < opBreg0+32, op >= opConst1u && op <= opConsts:
		return 0, 1
	}
	switch op {
	case opAddr, opBregx, opPick:
		return 0, 1
	case opDup:
		return 1, 2
	case opOver:
		return 0, 1
	case opSwap:
		return 2, 2
	case opRot:
		return 3, 3
	case opDeref, opDerefSize, opAbs, opNeg, opNot, opPlusUconst:
		return 1, 1
	case opDrop, opBra:
		return 1, 0
	case opNop, opSkip:
		return 0, 0
	case opAnd, opMinus, opMul, opOr, opPlus, opShl, opShr, opShra, opXor, opEq, opGe, opGt, opLe, opLt, opNe:
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
	case opAnd:
		return x & y
	case opMinus:
		return x - y
	case opMul:
		return x * y
	case opOr:
		return x | y
	case opPlus:
		return x + y
	case opShl:
		return x << y
	case opShr:
		return x >> y
	case opShra:
		return uint64(int64(x) >> y)
	case opXor:
		return x ^ y
	case opEq:
		return truth(x == y)
	case opGe:
		return truth(int64(x) >= int64(y))
	case opGt:
		return truth(int64(x) > int64(y))
	case opLe:
		return truth(int64(x) <= int64(y))
	case opLt:
		return truth(int64(x) < int64(y))
	}
	return truth(x != y)
}
