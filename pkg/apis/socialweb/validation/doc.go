// Package validation checks the kinds of socialweb.computer.
//
// For each kind there is ValidateXCreate, ValidateXUpdate and
// ValidateXStatusUpdate, for the strategies of the registry.
// [ValidateDeclaration] and [ValidateEphemeralDeclaration] check the part that a
// record holds; what reads a record from a repository calls them too, so that
// the API and the repository agree on what is valid. The bounds are those of the
// lexicons, and a test keeps them equal.
//
// All of it is written by hand. The declarative validation that validation-gen
// makes from tags runs on versioned types, through a scheme and a request, which
// a record read from a repository has none of, and its messages don't say what
// to do instead. Checking the same rule in both would report it twice.
//
// An update is checked for what it changes: an object whose declaration doesn't
// change passes even when a bound was lowered since, so that no label, finalizer
// or status write is ever stuck behind an old declaration.
package validation
