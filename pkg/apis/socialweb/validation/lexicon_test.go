package validation

import (
	"encoding/json"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/lexicons"
)

// schema is what of a lexicon node the test reads.
type schema struct {
	MaxLength   *int              `json:"maxLength"`
	Minimum     *int              `json:"minimum"`
	Maximum     *int              `json:"maximum"`
	KnownValues []string          `json:"knownValues"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	Record      *schema           `json:"record"`
}

// defs reads the definitions of a lexicon.
func defs(t *testing.T, nsid string) map[string]schema {
	t.Helper()
	raw, err := lexicons.FS.ReadFile(strings.ReplaceAll(nsid, ".", "/") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Defs map[string]schema `json:"defs"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.Defs
}

// TestBoundsAreThoseOfTheLexicons: whatever the API takes must be publishable,
// and whatever a record may hold must be servable.
func TestBoundsAreThoseOfTheLexicons(t *testing.T) {
	infra, ephemeral := defs(t, lexicons.Infra), defs(t, lexicons.EphemeralInfra)
	contract := infra["contract"].Properties
	contractStatus := infra["contractStatus"].Properties

	for name, bound := range map[string]struct {
		lexicon *int
		api     int
	}{
		"description":           {infra["main"].Record.Properties["description"].MaxLength, MaxDescription},
		"ephemeral description": {ephemeral["main"].Record.Properties["description"].MaxLength, MaxDescription},
		"contracts":             {infra["main"].Record.Properties["contracts"].MaxLength, MaxContracts},
		"ephemeral contracts":   {ephemeral["main"].Record.Properties["contracts"].MaxLength, MaxContracts},
		"contract name":         {contract["name"].MaxLength, 63},
		"vmName":                {contract["vmName"].MaxLength, MaxVMName},
		"bidderDids":            {contract["bidderDids"].MaxLength, MaxDIDs},
		"bidder":                {contract["bidderDids"].Items.MaxLength, MaxDID},
		"denyBidderDids":        {contract["denyBidderDids"].MaxLength, MaxDIDs},
		"denied bidder":         {contract["denyBidderDids"].Items.MaxLength, MaxDID},
		"sshAuthorizedKeys":     {contract["sshAuthorizedKeys"].MaxLength, MaxSSHKeys},
		"key":                   {contract["sshAuthorizedKeys"].Items.MaxLength, MaxSSHKey},
		"userData":              {contract["userData"].MaxLength, MaxUserData},
		"policy":                {contract["policy"].MaxLength, MaxPolicy},
		"policyArgs":            {contract["policyArgs"].MaxLength, MaxPolicyArgs},
		"argument":              {contract["policyArgs"].Items.MaxLength, MaxPolicyArg},
		"vmReadyTimeoutSec":     {contract["vmReadyTimeoutSec"].Maximum, MaxVMReadyTimeoutSec},
		"least ttlSeconds":      {ephemeral["main"].Record.Properties["ttlSeconds"].Minimum, MinTTLSeconds},
		"most ttlSeconds":       {ephemeral["main"].Record.Properties["ttlSeconds"].Maximum, MaxTTLSeconds},
		"status":                {infra["status"].Properties["contracts"].MaxLength, MaxContractStatuses},
		"ephemeral status":      {ephemeral["status"].Properties["contracts"].MaxLength, MaxContractStatuses},
		"winner":                {contractStatus["winner"].MaxLength, MaxDID},
		"receipt":               {contractStatus["receipt"].MaxLength, MaxATURI},
		"message":               {contractStatus["message"].MaxLength, MaxMessage},
	} {
		if bound.lexicon == nil || *bound.lexicon != bound.api {
			t.Errorf("%s: the API says %d, the lexicon doesn't", name, bound.api)
		}
	}
}

// known checks that the values of an enumeration are the lower-case knownValues.
func known[T ~string](t *testing.T, name string, values []T, lexicon []string) {
	t.Helper()
	want := map[string]bool{}
	for _, v := range values {
		if v != "" {
			want[strings.ToLower(string(v))] = true
		}
	}
	if len(want) != len(lexicon) {
		t.Errorf("%s: the API has %v, the lexicon %v", name, values, lexicon)
	}
	for _, v := range lexicon {
		if !want[v] {
			t.Errorf("%s: the API doesn't know %q", name, v)
		}
	}
}

func TestEnumsAreThoseOfTheLexicons(t *testing.T) {
	infra, ephemeral := defs(t, lexicons.Infra), defs(t, lexicons.EphemeralInfra)
	known(t, "state", contractStates, infra["contract"].Properties["state"].KnownValues)
	known(t, "contract phase", contractPhases, infra["contractStatus"].Properties["phase"].KnownValues)
	// Both kinds share the phases in their lexicons; an Infra never reports Ending.
	known(t, "phase", ephemeralPhases, infra["status"].Properties["phase"].KnownValues)
	known(t, "ephemeral phase", ephemeralPhases, ephemeral["status"].Properties["phase"].KnownValues)
	known(t, "endWhen", endWhens, ephemeral["main"].Record.Properties["endWhen"].KnownValues)
}
