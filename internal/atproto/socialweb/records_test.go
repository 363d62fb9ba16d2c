package socialweb

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atdata"
)

const infraJSON = `{
  "$type": "computer.socialweb.infra",
  "description": "two guests",
  "createdAt": "2026-11-30T03:00:00.000Z",
  "contracts": [
    {"name": "web", "state": "requested", "vmName": "web-1",
     "bidderDids": ["did:plc:ewvi7nxzyoun6zhxrhs64oiz"], "denyBidderDids": ["did:web:bad.example.com"],
     "sshAuthorizedKeys": ["ssh-ed25519 AAAA me"], "userData": "#cloud-config\n",
     "policy": "cheapest", "policyArgs": ["max=3"], "vmReadyTimeoutSec": 300},
    {"name": "db", "state": "staged"}
  ],
  "status": {"phase": "deploying", "contracts": [
    {"name": "web", "phase": "deployed", "winner": "did:web:bidder.example.com",
     "receipt": "at://did:web:bidder.example.com/computer.socialweb.market.receipt/3k2akf", "message": "up"}]}
}`

const ephemeralJSON = `{
  "$type": "computer.socialweb.ephemeralInfra",
  "contracts": [{"name": "job", "state": "requested"}],
  "ttlSeconds": 120,
  "endWhen": "deadline",
  "status": {"phase": "ending", "expiresAt": "2026-11-30T03:02:00Z"}
}`

// sameBytes checks that the typed record, read from JSON, has the very DAG-CBOR
// bytes, and so the CID, that the untyped record has.
func sameBytes(t *testing.T, raw string, typed any, encode func(*bytes.Buffer) error) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), typed); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := encode(&got); err != nil {
		t.Fatal(err)
	}
	untyped, err := atdata.UnmarshalJSON([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want, err := atdata.MarshalCBOR(untyped)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("typed and untyped encodings differ:\n%x\n%x", got.Bytes(), want)
	}
}

func TestTypedRecordsEncodeAsTheUntyped(t *testing.T) {
	var infra Infra
	sameBytes(t, infraJSON, &infra, func(b *bytes.Buffer) error { return infra.MarshalCBOR(b) })
	var ephemeral EphemeralInfra
	sameBytes(t, ephemeralJSON, &ephemeral, func(b *bytes.Buffer) error { return ephemeral.MarshalCBOR(b) })
}

func TestTypedRecordsDecode(t *testing.T) {
	untyped, err := atdata.UnmarshalJSON([]byte(infraJSON))
	if err != nil {
		t.Fatal(err)
	}
	block, err := atdata.MarshalCBOR(untyped)
	if err != nil {
		t.Fatal(err)
	}
	var infra Infra
	if err := infra.UnmarshalCBOR(bytes.NewReader(block)); err != nil {
		t.Fatal(err)
	}
	if len(infra.Contracts) != 2 || infra.Contracts[0].Name != "web" || infra.Contracts[1].State != "staged" {
		t.Errorf("contracts were lost: %+v", infra.Contracts)
	}
	if w := infra.Status.Contracts[0].Winner; w == nil || *w != "did:web:bidder.example.com" {
		t.Errorf("the winner was lost: %v", w)
	}
}
