// Package atproto talks to one account's repository at its PDS.
//
// [Repo] is the whole surface that the storage needs; [Client] is its
// implementation over XRPC. Package events delivers what happens in
// repositories, package recordcid computes what a record's CID will be.
//
// Nothing here knows Kubernetes: errors are the sentinels of errors.go, and the
// layer above maps them to API errors.
package atproto
