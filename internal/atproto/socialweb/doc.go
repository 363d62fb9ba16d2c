// Package socialweb holds the Go types of the record lexicons
// computer.socialweb.infra and computer.socialweb.ephemeralInfra, generated from
// the lexicons directory by hack/update-lexicons.sh.
//
// A typed record drops the fields that its lexicon doesn't name. Whoever reads a
// record to write it back keeps it as a map in the atproto data model instead;
// these types are for reading, for tests and for tools.
package socialweb
