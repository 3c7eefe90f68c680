package query

// StackPage is what the stack is copied by: memory is there, or not, by pages.
const StackPage = 4096

// StackCopy is how many bytes of the stack are copied, a multiple of StackPage.
const StackCopy = 4 * StackPage
