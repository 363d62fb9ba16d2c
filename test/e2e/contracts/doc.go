// Package contracts has the live rows of a deployment's life, each a test named after
// it: from a staged contract to its request, fulfilment, release and end, with edits
// and deletions from either side. The control plane, its garbage collector and the PDS
// are real, and so is the controller, in two replicas with the rights of its service
// account. A fulfiller is played through the API; what others do to records is done by
// a plain XRPC client.
//
// # Time
//
// The deadline of an EphemeralInfra is its record's createdAt plus ttlSeconds. So a row
// that needs the deadline of a ttl of 120 s within seconds writes the record itself, as
// any atproto client may, with a createdAt that is most of the ttl ago. Nobody's clock
// is moved; unit tests of the controller move theirs. Where the machine is too slow to
// get the contract deployed before, the row begins anew with more time.
package contracts
