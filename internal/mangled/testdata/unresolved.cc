// Names whose scope is a template that depends on an argument. peers_test.go compiles this.
#include <type_traits>

template<class T> struct Tr { static const bool value = true; };
namespace n {
template<class T> struct Q {
	static const bool value = true;
	template<class U> struct R { static const bool value = true; };
};
template<class T> constexpr bool is_v = true;
struct P {
	template<class U> static constexpr bool v = true;
	static constexpr bool w = true;
};
namespace m { template<class T> constexpr bool is_v = true; }
}

template<bool B, class T> using If = typename std::enable_if<B, T>::type;

template<class T> If<Tr<T>::value, T> f(T a, T) { return a; }
template<class T> If<n::Q<T>::value, T *> f2(T *a, T *, n::P *, n::P *) { return a; }
template<class T> If<n::Q<T>::template R<T *>::value, T *> f3(T *a, T *, n::P *, n::P *) { return a; }
template<class T> If<n::is_v<T *>, T *> f4(T *a, T *, n::P *, n::P *) { return a; }
template<class T> If<n::m::is_v<T *>, T *> f5(T *a, T *, n::P *, n::P *) { return a; }
template<class T> If<T::template v<T *>, T *> f6(T *a, T *, n::P *, n::P *) { return a; }
template<class T> If<std::remove_reference<T>::type::template v<T *>, T *> f7(T *a, T *, n::P *, n::P *) { return a; }
template<class T> auto f8(T *a, T *, n::P *, n::P *) -> decltype(::n::Q<T>::template R<T *>::value, a) { return a; }
template<class T> auto f9(T *a, T *, n::P *, n::P *) -> decltype(a->n::P::w, a) { return a; }
template<class T> If<Tr<n::Q<If<Tr<T>::value, T>>>::value && n::Q<T>::value, T *> f10(T *a, T *, n::P *, Tr<T> *) { return a; }

int main() {
	int i;
	n::P p;
	Tr<int> t;
	f(1, 2), f2(&i, &i, &p, &p), f3(&i, &i, &p, &p), f4(&i, &i, &p, &p), f5(&i, &i, &p, &p);
	f6(&p, &p, &p, &p), f7(&p, &p, &p, &p), f8(&i, &i, &p, &p), f9(&p, &p, &p, &p), f10(&i, &i, &p, &t);
}
