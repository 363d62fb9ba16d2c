// Package lexicons checks records against the project's lexicons (package
// lexicons at the root of the module) with indigo's validator.
//
// A lexicon is open: fields that it doesn't name, and values of an enumeration
// that it doesn't know, are valid, because a newer client may write them. What a
// field may not be is null, even when it is optional: absent is the only way to
// leave it out. Rules that a lexicon can't state, such as unique contract names,
// are the API's (pkg/apis/socialweb/validation).
package lexicons
