// Package cases holds, by their kind, the failures of other API servers that keep
// their objects in a store of their own, as tests of this one. They speak to dev
// over HTTP, as any client would.
package cases
