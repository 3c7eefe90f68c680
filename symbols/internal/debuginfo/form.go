package debuginfo

// Tags, attributes and forms (DWARF 5, section 7.5). Those above 0x1f00 are GNU's.
const (
	tagArrayType         = 0x01
	tagEnumerationType   = 0x04
	tagFormalParameter   = 0x05
	tagLexicalBlock      = 0x0b
	tagMember            = 0x0d
	tagPointerType       = 0x0f
	tagReferenceType     = 0x10
	tagCompileUnit       = 0x11
	tagStructureType     = 0x13
	tagTypedef           = 0x16
	tagClassType         = 0x02
	tagInlinedSubroutine = 0x1d
	tagBaseType          = 0x24
	tagConstType         = 0x26
	tagSubprogram        = 0x2e
	tagVolatileType      = 0x35
	tagRestrictType      = 0x37
	tagRvalueReference   = 0x42
	tagAtomicType        = 0x47
	tagVariable          = 0x34
	tagSubrangeType      = 0x21
	tagUnionType         = 0x17
	tagSubroutineType    = 0x15
	tagVariantPart       = 0x33
	tagPtrToMember       = 0x1f
	tagUnspecifiedType   = 0x3b
	tagInheritance       = 0x1c
	tagNamespace         = 0x39
	tagEnumerator        = 0x28
	tagConstant          = 0x27

	attrLocation       = 0x02
	attrName           = 0x03
	attrByteSize       = 0x0b
	attrBitOffset      = 0x0c
	attrBitSize        = 0x0d
	attrStmtList       = 0x10
	attrLowPC          = 0x11
	attrHighPC         = 0x12
	attrCompDir        = 0x1b
	attrConstValue     = 0x1c
	attrAbstractOrigin = 0x31
	attrMemberLocation = 0x38
	attrEncoding       = 0x3e
	attrFrameBase      = 0x40
	attrType           = 0x49
	attrDataBitOffset  = 0x6b
	attrLoclistsBase   = 0x8c
	attrDeclaration    = 0x3c
	attrSignature      = 0x69
	attrExternal       = 0x3f
	attrLanguage       = 0x13
	attrConvention     = 0x36 // DW_AT_calling_convention, also of types
	attrVarParameter   = 0x4b // DW_AT_variable_parameter: Go's results
	attrCount          = 0x37
	attrProducer       = 0x25
	attrArtificial     = 0x34
	attrDefaulted      = 0x8b
	attrUpperBound     = 0x2f
	attrEntryPC        = 0x52
	attrSpecification  = 0x47
	attrRanges         = 0x55
	attrCallFile       = 0x58
	attrCallLine       = 0x59
	attrLinkageName    = 0x6e
	attrStrOffsetsBase = 0x72
	attrAddrBase       = 0x73
	attrRnglistsBase   = 0x74
	attrDwoName        = 0x76
	attrMIPSLinkage    = 0x2007
	attrGNUDwoName     = 0x2130
	attrGNUDwoID       = 0x2131
	attrGNURangesBase  = 0x2132
	attrGNUAddrBase    = 0x2133

	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// value is an attribute's value. Strings, addresses and references that are in other
// sections stay there.
type value struct {
	form uint16
	num  uint64 // a number, an offset, an index
	str  []byte // formString, or a block
}

// encoding is what the sizes of values depend on.
type encoding struct {
	version      uint16
	offset, addr int // sizes in bytes
}

// fixed returns the size of values of a form, -1 if it differs from value to value.
func (e encoding) fixed(form uint16) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return e.addr
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrpAlt:
		return e.offset
	case formRefAddr:
		if e.version < 3 {
			return e.addr
		}
		return e.offset
	}
	return -1
}

// read decodes a value of the form of s.
func (e encoding) read(b *buffer, s *spec) value {
	form := s.form
	for form == formIndirect && !b.failed {
		form = uint16(b.uleb())
	}
	v := value{form: form}
	switch form {
	case formFlagPresent:
		v.num = 1
	case formImplicitConst:
		v.num = uint64(s.implicit)
	case formData16:
		b.take(16)
	case formString:
		v.str = b.str()
	case formSdata:
		v.num = uint64(b.sleb())
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.num = b.uleb()
	case formBlock, formExprloc:
		v.str = b.take(b.uleb())
	case formBlock1:
		v.str = b.take(uint64(b.u8()))
	case formBlock2:
		v.str = b.take(uint64(b.u16()))
	case formBlock4:
		v.str = b.take(uint64(b.u32()))
	default:
		if n := e.fixed(form); n > 0 {
			v.num = b.uint(n)
		} else {
			b.data, b.failed = nil, true
		}
	}
	return v
}
