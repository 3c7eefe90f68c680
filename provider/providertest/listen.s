// The compiler accepts functions without a body only in a package that has assembly.
