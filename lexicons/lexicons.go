// Package lexicons embeds the record lexicons of the project, the schemas that
// every writer of a record shares, whatever it is written in.
package lexicons

import "embed"

// NSIDs of the record collections.
const (
	// Infra is the collection of the kind Infra.
	Infra = "computer.socialweb.infra"
	// EphemeralInfra is the collection of the kind EphemeralInfra.
	EphemeralInfra = "computer.socialweb.ephemeralInfra"
)

// FS holds the lexicon of each collection at its NSID's path, for example
// computer/socialweb/infra.json.
//
//go:embed computer
var FS embed.FS
