// libm.c calls the functions of libm on many numbers and prints a checksum for each.
#define _GNU_SOURCE
#include <complex.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t sum;

static void add(const void *p, size_t n)
{
	for (const unsigned char *c = p; n > 0; c++, n--)
		sum = (sum ^ *c) * 0x100000001b3;
}

#define ADD(x) do { __auto_type v = (x); add(&v, sizeof v < 16 ? sizeof v : 10); } while (0)
#define ADDC(x) do { __auto_type v = (x); ADD(__real__ v); ADD(__imag__ v); } while (0)

static const double numbers[] = {
	0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -3, 10, 0.1, 1e-3, -1e-3, 1e-8, 1e-20, 0x1p-1022, 0x1p-1074, 1e-310, 1e10, -1e10, 1e22, 1e100, 1e300,
	0x1.fffffffffffffp1023, 3.14159265358979, 1.5707963267949, 0.785398163397448, 100.25, 709.7, 710, -745, 88.7, 89, 1.25, 2.5, -2.5, 7.75,
	0.999999, 1.000001, 33.3, -44.4, 171, 172, 0x1p53, 0x1p63, -0x1p63, 5.5, 6.25, 17, 1234.5, INFINITY, -INFINITY, NAN,
};
enum { N = sizeof numbers / sizeof *numbers };

static void end(const char *name)
{
	printf("%s %016lx %x\n", name, sum, fetestexcept(FE_ALL_EXCEPT));
	sum = 0;
	feclearexcept(FE_ALL_EXCEPT);
}

// Each in the precisions of float, double, long double.
#define EACH(name, ...) \
	for (int i = 0; i < N; i++) { double x = numbers[i]; (void)x; __VA_ARGS__; } \
	end(name);
#define ONE(F) EACH(#F, ADD(F(x))) EACH(#F "f", ADD(F##f(x))) EACH(#F "l", ADD(F##l(x))) EACH(#F "f128", f128(F##f128(x)))
#define TWO(F) EACH(#F, PAIRS(ADD(F(x, y)))) EACH(#F "f", PAIRS(ADD(F##f(x, y)))) EACH(#F "l", PAIRS(ADD(F##l(x, y)))) EACH(#F "f128", PAIRS(f128(F##f128(x, y))))
#define PAIRS(...) for (int j = i % 11; j < N; j += 11) { double y = numbers[j]; __VA_ARGS__; }
#define COMPLEX(F) EACH(#F, PAIRS(ADDC(F(CMPLX(x, y))))) EACH(#F "f", PAIRS(ADDC(F##f(CMPLXF(x, y))))) EACH(#F "l", PAIRS(ADDC(F##l(CMPLXL(x, y)))))
#define OLD(F) EACH(#F, ADD(F(x))) EACH(#F "f", ADD(F##f(x))) EACH(#F "l", ADD(F##l(x)))

static void f128(_Float128 v) { add(&v, sizeof v); }

static void all(void)
{
	ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(atan) ONE(atanh) ONE(cbrt) ONE(ceil) ONE(cos) ONE(cosh) ONE(erf) ONE(erfc)
	ONE(exp) ONE(exp10) ONE(exp2) ONE(expm1) ONE(fabs) ONE(floor) ONE(j0) ONE(j1) ONE(lgamma) ONE(log) ONE(log10) ONE(log1p)
	ONE(log2) ONE(logb) ONE(nearbyint) ONE(rint) ONE(round) ONE(roundeven) ONE(sin) ONE(sinh) ONE(sqrt) ONE(tan) ONE(tanh)
	ONE(tgamma) ONE(trunc) ONE(y0) ONE(y1) ONE(lrint) ONE(llrint) ONE(lround) ONE(llround) ONE(ilogb) ONE(llogb) ONE(nextup) ONE(nextdown)
	OLD(significand) OLD(gamma)
	TWO(atan2) TWO(copysign) TWO(fdim) TWO(fmax) TWO(fmin) TWO(fmod) TWO(hypot) TWO(nextafter) TWO(pow) TWO(remainder) TWO(fmaxmag) TWO(fminmag)
	COMPLEX(cacos) COMPLEX(cacosh) COMPLEX(casin) COMPLEX(casinh) COMPLEX(catan) COMPLEX(catanh) COMPLEX(ccos) COMPLEX(ccosh) COMPLEX(cexp)
	COMPLEX(clog) COMPLEX(clog10) COMPLEX(cproj) COMPLEX(csin) COMPLEX(csinh) COMPLEX(csqrt) COMPLEX(ctan) COMPLEX(ctanh) COMPLEX(conj)
	COMPLEX(cabs) COMPLEX(carg) COMPLEX(cimag) COMPLEX(creal)
	EACH("cpow", PAIRS(ADDC(cpow(CMPLX(x, y), CMPLX(y, 0.5)))))
	EACH("cpowf", PAIRS(ADDC(cpowf(CMPLXF(x, y), CMPLXF(y, 0.5f)))))
	EACH("drem", PAIRS(ADD(drem(x, y)); ADD(dremf(x, y)); ADD(dreml(x, y))))
	EACH("nexttoward", PAIRS(ADD(nexttoward(x, y)); ADD(nexttowardf(x, y)); ADD(nexttowardl(x, y))))
	EACH("scalb", PAIRS(ADD(scalb(x, y)); ADD(scalbf(x, y)); ADD(scalbl(x, y))))
	EACH("fma", PAIRS(ADD(fma(x, y, 0.1)); ADD(fmaf(x, y, 0.1f)); ADD(fmal(x, y, 0.1L)); f128(fmaf128(x, y, 0.1f128))))
	EACH("remquo", PAIRS(int q = 0; ADD(remquo(x, y, &q)); ADD(remquof(x, y, &q)); ADD(remquol(x, y, &q))))
	EACH("frexp", int e = 0; ADD(frexp(x, &e)); ADD(frexpf(x, &e)); ADD(frexpl(x, &e)); ADD(isfinite(x) ? e : 0))
	EACH("modf", double a; float b; long double c; ADD(modf(x, &a)); ADD(modff(x, &b)); ADD(modfl(x, &c)); ADD(a); ADD(b); ADD(c))
	EACH("sincos", double a, b; sincos(x, &a, &b); ADD(a); ADD(b))
	EACH("sincosf", float a, b; sincosf(x, &a, &b); ADD(a); ADD(b))
	EACH("sincosl", long double a, b; sincosl(x, &a, &b); ADD(a); ADD(b))
	EACH("ldexp", for (int e = -1080; e < 1080; e += 377) { ADD(ldexp(x, e)); ADD(ldexpf(x, e)); ADD(ldexpl(x, e)); })
	EACH("scalbn", for (int e = -1080; e < 1080; e += 377) { ADD(scalbn(x, e)); ADD(scalbnf(x, e)); ADD(scalbnl(x, e)); ADD(scalbln(x, e)); ADD(scalblnf(x, e)); })
	EACH("jn", for (int n = -3; n < 20; n += 4) { ADD(jn(n, x)); ADD(jnf(n, x)); ADD(jnl(n, x)); ADD(yn(n, x)); ADD(ynf(n, x)); ADD(ynl(n, x)); })
	EACH("fromfp", ADD(fromfp(x, 2, 40)); ADD(ufromfp(x, 1, 40)); ADD(fromfpx(x, 0, 64)); ADD(fromfpf(x, 3, 12)); ADD(ufromfpxl(x, 4, 64)))
	EACH("canonicalize", double r; float s; ADD(canonicalize(&r, &x)); ADD(r); float f = x; ADD(canonicalizef(&s, &f)); ADD(s))
	EACH("totalorder", PAIRS(ADD(totalorder(&x, &y)); ADD(totalordermag(&x, &y))))
	EACH("payload", ADD(getpayload(&x)); double r = 0; ADD(setpayload(&r, x)); ADD(setpayloadsig(&r, x)))
	EACH("narrow", PAIRS(ADD(faddl(x, y)); ADD(fadd(x, y)); ADD(fmul(x, y)); ADD(fdiv(x, y)); ADD(fsub(x, y)); ADD(ddivl(x, y)); ADD(dmull(x, y)); ADD(fsqrt(x)); ADD(dsqrtl(x)); ADD(ffma(x, y, 1))))
	EACH("lgamma_r", int s; ADD(lgamma_r(x, &s)); ADD(lgammaf_r(x, &s)); ADD(lgammal_r(x, &s)); ADD(s))
	EACH("classify", ADD(fpclassify(x)); ADD(fpclassify((float)x)); ADD(fpclassify((long double)x)); ADD(issignaling(x)); ADD(iscanonical((long double)x)); ADD(signbit(x) != 0))
	ADD(nan("1") != 0); ADD(nanf("") != 0); ADD(nanl("3") != 0);
	end("nan");
}

int main(void)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD};
	for (int i = 0; i < 2; i++) {
		fenv_t env;
		feholdexcept(&env);
		fesetround(modes[i]);
		printf("rounding %x\n", fegetround());
		all();
		feraiseexcept(FE_DIVBYZERO | FE_INEXACT);
		fexcept_t flags;
		fegetexceptflag(&flags, FE_ALL_EXCEPT);
		printf("%x %x\n", flags, fegetexcept());
		fesetexceptflag(&flags, FE_INEXACT);
		fesetenv(&env);
		feupdateenv(&env);
	}
	return 0;
}
