// Instructions of every shape that x86 gives to vector prefixes, for both modes.
	.text
	vzeroupper
	vzeroall
	vmovd %xmm1, %eax
	vmovdqu (%eax), %ymm2
	vmovdqu 8(%ebx,%ecx,4), %ymm3
	vmovdqu 0x12345(,%ecx,4), %ymm3
	vpshufd $3, %xmm1, %xmm2
	vpsrldq $3, %xmm1, %xmm2
	vcmpps $1, %ymm1, %ymm2, %ymm3
	vpinsrw $1, %eax, %xmm1, %xmm2
	vpextrw $1, %xmm1, %eax
	vshufps $1, %xmm1, %xmm2, %xmm3
	vpalignr $1, (%eax), %xmm2, %xmm3
	vfmaddsd %xmm1, %xmm2, %xmm3, %xmm4
	vfmadd213sd (%eax), %xmm2, %xmm3
	vmovups %zmm1, 64(%eax)
	vmovups %zmm1, 65(%eax)
	vpternlogd $1, %zmm1, %zmm2, %zmm3
	vpsrld $1, %zmm1, %zmm2
	vcmpps $1, %zmm1, %zmm2, %k1
	kmovw %k1, %eax
	andn %eax, %ebx, %ecx
	rorx $1, %eax, %ebx
	vprotb $1, %xmm1, %xmm2
	vpermil2ps $0, %xmm1, %xmm2, %xmm3, %xmm4
	bextr $0x1234, %eax, %ebx
	endbr64
	endbr32
	rdpkru
	wrpkru
#ifdef __i386__
	lds (%eax), %ebx
	les (%eax), %ebx
	bound %eax, (%ebx)
#endif
