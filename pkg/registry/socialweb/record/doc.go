// Package record maps the kinds Infra and EphemeralInfra to their atproto
// records, and back. The two differ by a few fields, so all else is said once.
//
// The private part of an object (labels, secrets, conditions, the binding …) has
// no place in a record, and what a record holds beyond the lexicon survives in
// the remainder.
package record
