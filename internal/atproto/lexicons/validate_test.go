package lexicons

import (
	"errors"
	"strings"
	"testing"

	schemas "socialweb.computer/infra-apiserver/lexicons"
)

// infraRecord is a valid record that uses every field of its lexicon.
func infraRecord() map[string]any {
	return map[string]any{
		"$type":       schemas.Infra,
		"description": "two guests",
		"createdAt":   "2026-11-30T03:00:00.000Z",
		"contracts": []any{
			map[string]any{
				"name":              "web",
				"state":             "requested",
				"vmName":            "web-1",
				"bidderDids":        []any{"did:plc:ewvi7nxzyoun6zhxrhs64oiz"},
				"denyBidderDids":    []any{"did:web:bad.example.com"},
				"sshAuthorizedKeys": []any{"ssh-ed25519 AAAA me"},
				"userData":          "#cloud-config\n",
				"policy":            "cheapest",
				"policyArgs":        []any{"max=3"},
				"vmReadyTimeoutSec": int64(300),
			},
			map[string]any{"name": "db", "state": "staged"},
		},
		"status": map[string]any{
			"phase": "deploying",
			"contracts": []any{map[string]any{
				"name": "web", "phase": "deployed", "winner": "did:web:bidder.example.com",
				"receipt": "at://did:web:bidder.example.com/computer.socialweb.market.receipt/3k2akf", "message": "up",
			}},
		},
	}
}

// ephemeralRecord is a valid record that uses every field of its lexicon.
func ephemeralRecord() map[string]any {
	r := infraRecord()
	r["$type"] = schemas.EphemeralInfra
	r["ttlSeconds"] = int64(120)
	r["endWhen"] = "deadline"
	r["status"].(map[string]any)["expiresAt"] = "2026-11-30T03:02:00Z"
	return r
}

func contract(r map[string]any, i int) map[string]any {
	return r["contracts"].([]any)[i].(map[string]any)
}

func contractStatus(r map[string]any) map[string]any {
	return r["status"].(map[string]any)["contracts"].([]any)[0].(map[string]any)
}

func TestValidRecords(t *testing.T) {
	cases := map[string]map[string]any{
		"infra":           infraRecord(),
		"ephemeral":       ephemeralRecord(),
		"smallest":        {"$type": schemas.Infra, "contracts": []any{}},
		"unknown field":   {"$type": schemas.Infra, "contracts": []any{}, "x-team": map[string]any{"n": int64(1)}},
		"null in unknown": {"$type": schemas.Infra, "contracts": []any{}, "other": nil},
		"unknown field in contract": {"$type": schemas.Infra, "contracts": []any{
			map[string]any{"name": "a", "state": "staged", "gpu": true}}},
		"unknown enum value": {"$type": schemas.Infra, "contracts": []any{
			map[string]any{"name": "a", "state": "paused"}}},
	}
	for name, record := range cases {
		t.Run(name, func(t *testing.T) {
			if err := Validate(record); err != nil {
				t.Error(err)
			}
		})
	}
}

// invalidCases break one field each.
var invalidCases = map[string]struct {
	record func() map[string]any
	change func(map[string]any)
	field  string
}{
	"no type":               {infraRecord, func(r map[string]any) { delete(r, "$type") }, "$type"},
	"type not a string":     {infraRecord, func(r map[string]any) { r["$type"] = int64(1) }, "$type"},
	"unknown type":          {infraRecord, func(r map[string]any) { r["$type"] = "app.bsky.feed.post" }, "$type"},
	"no contracts":          {infraRecord, func(r map[string]any) { delete(r, "contracts") }, "contracts"},
	"contracts null":        {infraRecord, func(r map[string]any) { r["contracts"] = nil }, "contracts"},
	"contracts an object":   {infraRecord, func(r map[string]any) { r["contracts"] = map[string]any{} }, "contracts"},
	"contract a string":     {infraRecord, func(r map[string]any) { r["contracts"] = []any{"web"} }, "contracts[0]"},
	"contract null":         {infraRecord, func(r map[string]any) { r["contracts"] = []any{nil} }, "contracts[0]"},
	"too many contracts":    {infraRecord, func(r map[string]any) { r["contracts"] = make([]any, 129) }, "contracts"},
	"description null":      {infraRecord, func(r map[string]any) { r["description"] = nil }, "description"},
	"description a number":  {infraRecord, func(r map[string]any) { r["description"] = int64(1) }, "description"},
	"description too long":  {infraRecord, func(r map[string]any) { r["description"] = strings.Repeat("x", 4097) }, "description"},
	"bytes, not characters": {infraRecord, func(r map[string]any) { r["description"] = strings.Repeat("é", 2049) }, "description"},
	"createdAt not a date":  {infraRecord, func(r map[string]any) { r["createdAt"] = "yesterday" }, "createdAt"},
	"createdAt sans zone":   {infraRecord, func(r map[string]any) { r["createdAt"] = "2026-11-30T03:00:00" }, "createdAt"},
	"no name":               {infraRecord, func(r map[string]any) { delete(contract(r, 1), "name") }, "contracts[1].name"},
	"empty name":            {infraRecord, func(r map[string]any) { contract(r, 1)["name"] = "" }, "contracts[1].name"},
	"name too long":         {infraRecord, func(r map[string]any) { contract(r, 1)["name"] = strings.Repeat("n", 64) }, "contracts[1].name"},
	"no state":              {infraRecord, func(r map[string]any) { delete(contract(r, 0), "state") }, "contracts[0].state"},
	"state a bool":          {infraRecord, func(r map[string]any) { contract(r, 0)["state"] = true }, "contracts[0].state"},
	"not a DID":             {infraRecord, func(r map[string]any) { contract(r, 0)["bidderDids"] = []any{"did:plc:a", "alice"} }, "contracts[0].bidderDids[1]"},
	"denied not a DID":      {infraRecord, func(r map[string]any) { contract(r, 0)["denyBidderDids"] = []any{""} }, "contracts[0].denyBidderDids[0]"},
	"too many bidders":      {infraRecord, func(r map[string]any) { contract(r, 0)["bidderDids"] = make([]any, 65) }, "contracts[0].bidderDids"},
	"empty key":             {infraRecord, func(r map[string]any) { contract(r, 0)["sshAuthorizedKeys"] = []any{""} }, "contracts[0].sshAuthorizedKeys[0]"},
	"user data too long":    {infraRecord, func(r map[string]any) { contract(r, 0)["userData"] = strings.Repeat("x", 16385) }, "contracts[0].userData"},
	"argument a number":     {infraRecord, func(r map[string]any) { contract(r, 0)["policyArgs"] = []any{int64(1)} }, "contracts[0].policyArgs[0]"},
	"argument too long":     {infraRecord, func(r map[string]any) { contract(r, 0)["policyArgs"] = []any{strings.Repeat("x", 1025)} }, "contracts[0].policyArgs[0]"},
	"timeout zero":          {infraRecord, func(r map[string]any) { contract(r, 0)["vmReadyTimeoutSec"] = int64(0) }, "contracts[0].vmReadyTimeoutSec"},
	"timeout a string":      {infraRecord, func(r map[string]any) { contract(r, 0)["vmReadyTimeoutSec"] = "60" }, "contracts[0].vmReadyTimeoutSec"},
	"timeout a float":       {infraRecord, func(r map[string]any) { contract(r, 0)["vmReadyTimeoutSec"] = 1.5 }, "contracts[0].vmReadyTimeoutSec"},
	"status a string":       {infraRecord, func(r map[string]any) { r["status"] = "up" }, "status"},
	"winner not a DID":      {infraRecord, func(r map[string]any) { contractStatus(r)["winner"] = "bob" }, "status.contracts[0].winner"},
	"receipt not an at-uri": {infraRecord, func(r map[string]any) { contractStatus(r)["receipt"] = "https://x" }, "status.contracts[0].receipt"},
	"phase missing":         {infraRecord, func(r map[string]any) { delete(contractStatus(r), "phase") }, "status.contracts[0].phase"},
	"ttl too small":         {ephemeralRecord, func(r map[string]any) { r["ttlSeconds"] = int64(59) }, "ttlSeconds"},
	"ttl too large":         {ephemeralRecord, func(r map[string]any) { r["ttlSeconds"] = int64(315360001) }, "ttlSeconds"},
	"ttl null":              {ephemeralRecord, func(r map[string]any) { r["ttlSeconds"] = nil }, "ttlSeconds"},
	"endWhen a number":      {ephemeralRecord, func(r map[string]any) { r["endWhen"] = int64(1) }, "endWhen"},
	"expiresAt not a date":  {ephemeralRecord, func(r map[string]any) { r["status"].(map[string]any)["expiresAt"] = "soon" }, "status.expiresAt"},
	"ephemeral, no name":    {ephemeralRecord, func(r map[string]any) { delete(contract(r, 0), "name") }, "contracts[0].name"},
}

func TestInvalidRecords(t *testing.T) {
	for name, tc := range invalidCases {
		t.Run(name, func(t *testing.T) {
			record := tc.record()
			tc.change(record)
			err := Validate(record)
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("got %v, want an error that wraps ErrInvalid", err)
			}
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got a %T, want *InvalidError", err)
			}
			if invalid.Field != tc.field {
				t.Errorf("field %q, want %q (%v)", invalid.Field, tc.field, err)
			}
			if invalid.Reason == "" || !strings.Contains(err.Error(), tc.field) {
				t.Errorf("the text doesn't say what is wrong where: %v", err)
			}
		})
	}
}

func TestValidateAsWantsItsType(t *testing.T) {
	err := ValidateAs(schemas.EphemeralInfra, infraRecord())
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "$type" {
		t.Fatalf("got %v, want an InvalidError of $type", err)
	}
}
