package record

import (
	"maps"
)

// remainder is what a record holds beyond its kind: another client's fields, a
// newer lexicon's, and the author's own createdAt.
type remainder struct {
	fields    map[string]any            // of the record
	contracts map[string]map[string]any // of its contracts, by name
}

var (
	knownFields    = set("$type", "description", "contracts", "status")
	knownEphemeral = set("$type", "description", "contracts", "status", "ttlSeconds", "endWhen")
	knownContract  = set("name", "state", "vmName", "bidderDids", "denyBidderDids", "sshAuthorizedKeys",
		"userData", "policy", "policyArgs", "vmReadyTimeoutSec")
)

func set(keys ...string) map[string]bool {
	out := make(map[string]bool, len(keys))
	for _, k := range keys {
		out[k] = true
	}
	return out
}

func remainderOf(record map[string]any, ephemeral bool) remainder {
	known := knownFields
	if ephemeral {
		known = knownEphemeral
	}
	r := remainder{fields: beyond(record, known), contracts: map[string]map[string]any{}}
	list, _ := record["contracts"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if extra := beyond(m, knownContract); len(extra) > 0 {
			r.contracts[text(m, "name")] = extra
		}
	}
	return r
}

func beyond(m map[string]any, known map[string]bool) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if !known[k] {
			out[k] = v
		}
	}
	return out
}

// value is the remainder in the data model, nil where it is empty.
func (r remainder) value() map[string]any {
	out := map[string]any{}
	if len(r.fields) > 0 {
		out["fields"] = r.fields
	}
	if len(r.contracts) > 0 {
		contracts := map[string]any{}
		for name, extra := range r.contracts {
			contracts[name] = extra
		}
		out["contracts"] = contracts
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func readRemainder(value map[string]any) remainder {
	r := remainder{contracts: map[string]map[string]any{}}
	r.fields, _ = value["fields"].(map[string]any)
	contracts, _ := value["contracts"].(map[string]any)
	for name, extra := range contracts {
		if m, ok := extra.(map[string]any); ok {
			r.contracts[name] = m
		}
	}
	return r
}

// withoutNulls drops the fields of ours that are null: to many clients that is
// how a field is left out. Unknown fields keep their nulls.
func withoutNulls(record map[string]any) map[string]any {
	out := maps.Clone(record)
	drop := func(m map[string]any, known map[string]bool) {
		for k, v := range m {
			if v == nil && known[k] && k != "$type" {
				delete(m, k)
			}
		}
	}
	drop(out, knownEphemeral)
	if v, ok := out["createdAt"]; ok && v == nil {
		delete(out, "createdAt")
	}
	list, _ := out["contracts"].([]any)
	if list == nil {
		return out
	}
	contracts := make([]any, len(list))
	for i, e := range list {
		contracts[i] = e
		if m, ok := e.(map[string]any); ok {
			c := maps.Clone(m)
			drop(c, knownContract)
			contracts[i] = c
		}
	}
	out["contracts"] = contracts
	return out
}
