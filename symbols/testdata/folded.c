// Two equal functions, of which a linker keeps one:
//
//	clang -g -O1 -ffunction-sections -fuse-ld=lld -Wl,--icf=all -o folded folded.c
__attribute__((noinline)) int first(int a)
{
	return a * 7 + 3;
}
__attribute__((noinline)) int second(int a)
{
	return a * 7 + 3;
}
int main(int argc, char **argv)
{
	return first(argc) + second(argc + 1);
}
