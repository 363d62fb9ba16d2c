// Package devpds is an embedded Personal Data Server: the other half of `dev`
// mode and of fast tests.
//
// It answers every call that this project makes as the reference PDS
// (npm @atproto/pds) does, with the same status codes, error names and traps;
// a comparison test sends the same requests to both. Where it differs it is on
// purpose: events come at once instead of after a poll, an export is always
// consistent, and an event never names an operation that changed nothing.
//
// Layers, from the bottom:
//
//   - store.go: what is durable, one transaction a change (bbolt or memory).
//   - snapshot.go, commit.go: one repository. Readers take an immutable
//     snapshot; one writer at a time makes the next.
//   - eventlog.go: the sequence of events, and who waits for them.
//   - xrpc.go and the files named after lexicons: HTTP.
//
// All state that is read often lives in memory; the store is read when the
// server opens and when an old cursor asks for old events.
package devpds
