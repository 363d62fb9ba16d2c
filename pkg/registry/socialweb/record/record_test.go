package record

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bluesky-social/indigo/atproto/atdata"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

func parse(t testing.TB, s string) map[string]any {
	t.Helper()
	m, err := atdata.UnmarshalJSON([]byte(s))
	if err != nil {
		t.Fatalf("parse %s: %v", s, err)
	}
	return m
}

// mapperFor reads the kind off an entry's name.
func mapperFor(name string) repostore.RecordMapper {
	if strings.HasPrefix(name, "ephemeral") {
		return EphemeralInfra()
	}
	return Infra()
}

// TestInvalidCorpus: each record of the corpus is refused, the error names the
// field, and the object is left as it was.
func TestInvalidCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			m := mapperFor(c.Name)
			obj := m.New()
			before := obj.DeepCopyObject()
			_, err := m.Decode(c.Record, obj)
			var invalid *repostore.InvalidRecordError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want an InvalidRecordError", err)
			}
			if invalid.Field != c.Field {
				t.Errorf("field %q, want %q (%v)", invalid.Field, c.Field, err)
			}
			if invalid.Reason == "" {
				t.Error("no reason given")
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object was touched: %s", diff)
			}
		})
	}
}

// invalidRecord is an entry of the corpus.
type invalidRecord struct {
	Name, Field string
	Record      map[string]any
}

// corpus reads testdata/invalid.json.
func corpus(t testing.TB) []invalidRecord {
	t.Helper()
	b, err := os.ReadFile("testdata/invalid.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw []struct {
		Name, Field string
		Record      json.RawMessage
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	var out []invalidRecord
	for _, r := range raw {
		out = append(out, invalidRecord{r.Name, r.Field, parse(t, string(r.Record))})
	}
	if len(out) < 40 {
		t.Fatalf("the corpus has shrunk to %d", len(out))
	}
	return out
}

const foreign = `{"$type":"computer.socialweb.infra","createdAt":"2025-03-01T10:20:30.123Z","x-note":{"deep":[1,null,{"$bytes":"aGk"}]},
 "description":null,
 "contracts":[{"name":"web","state":"requested","bidderDids":["did:web:a.example"],"x-price":12},{"name":"db","state":"staged","vmReadyTimeoutSec":60}]}`

// TestUnknownFieldsSurvive: what other clients put into a record and into its
// contracts is there after our write, wherever the contract went.
func TestUnknownFieldsSurvive(t *testing.T) {
	m := Infra()
	obj := &socialweb.Infra{}
	rest, err := m.Decode(parse(t, foreign), obj)
	if err != nil {
		t.Fatal(err)
	}
	obj.Spec.Description = "ours"
	obj.Spec.Contracts[0], obj.Spec.Contracts[1] = obj.Spec.Contracts[1], obj.Spec.Contracts[0]
	// As the storage does: the remainder goes through JSON.
	b, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Encode(obj, parse(t, string(b)))
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{"$type":"computer.socialweb.infra","createdAt":"2025-03-01T10:20:30.123Z","x-note":{"deep":[1,null,{"$bytes":"aGk"}]},
 "description":"ours",
 "contracts":[{"name":"db","state":"staged","vmReadyTimeoutSec":60},{"name":"web","state":"requested","bidderDids":["did:web:a.example"],"x-price":12}]}`)
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

// TestPrivacy: nothing of the private part reaches a record.
func TestPrivacy(t *testing.T) {
	const marker = "PRIVATE-7f3a"
	obj := &socialweb.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{
		Name: "a", UID: marker, Labels: map[string]string{marker: marker}, Annotations: map[string]string{"a": marker},
		Finalizers: []string{marker}, OwnerReferences: []metav1.OwnerReference{{Name: marker}},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: marker}},
	}}
	obj.Spec.Contracts = []socialweb.Contract{{Name: "web", State: socialweb.ContractRequested}}
	obj.Spec.Secrets = []socialweb.ContractSecret{{Contract: "web", SecretRef: socialweb.SecretReference{Name: marker, Namespace: marker}}}
	obj.Spec.Record = &socialweb.RecordBinding{RepoRef: socialweb.RepoReference{Name: marker}}
	obj.Status.Conditions = []metav1.Condition{{Type: "X", Message: marker, Reason: marker}}
	obj.Status.Record = &socialweb.RecordStatus{URI: marker, CID: marker}
	out, err := EphemeralInfra().Encode(obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), marker) {
		t.Errorf("private data in the record: %s", b)
	}
}

// TestStatusRoundTrip: the status that we publish is what a lost view gets back.
func TestStatusRoundTrip(t *testing.T) {
	m := EphemeralInfra()
	ttl := int32(120)
	expires := metav1.NewTime(time.Date(2026, 1, 2, 3, 6, 5, 0, time.UTC))
	obj := &socialweb.EphemeralInfra{}
	obj.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	obj.Spec.Contracts = []socialweb.Contract{{Name: "web", State: socialweb.ContractRequested}}
	obj.Spec.TTLSeconds, obj.Spec.EndWhen = &ttl, socialweb.EndDeadline
	obj.Status.Phase = socialweb.PhaseDeployed
	obj.Status.Contracts = []socialweb.ContractStatus{{Name: "web", Phase: socialweb.ContractPhaseDeployed, Winner: "did:web:b.example", Receipt: "at://did:web:b.example/x.y.z/1", Message: "ok"}}
	obj.Status.ExpiresAt = &expires
	out, err := m.Encode(obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{"$type":"computer.socialweb.ephemeralInfra","createdAt":"2026-01-02T03:04:05Z","ttlSeconds":120,"endWhen":"deadline",
	 "contracts":[{"name":"web","state":"requested"}],
	 "status":{"phase":"deployed","expiresAt":"2026-01-02T03:06:05Z","contracts":[{"name":"web","phase":"deployed","winner":"did:web:b.example","receipt":"at://did:web:b.example/x.y.z/1","message":"ok"}]}}`)
	if diff := cmp.Diff(want, out); diff != "" {
		t.Fatal(diff)
	}
	back := &socialweb.EphemeralInfra{}
	if _, err := m.Decode(out, back); err != nil {
		t.Fatal(err)
	}
	m.FirstSight(back, repostore.Sight{Record: out, Ours: true, Now: time.Now()})
	if !back.Status.ExpiresAt.Equal(&expires) {
		t.Errorf("expiresAt %v, want %v", back.Status.ExpiresAt, expires)
	}
	back.Status.ExpiresAt = obj.Status.ExpiresAt // other location, same time
	if diff := cmp.Diff(obj.Status, back.Status); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(obj.Spec, back.Spec); diff != "" {
		t.Error(diff)
	}
}

// TestForeignStatusIsNotOurs: a record seen for the first time says nothing about
// what we observed, and its expiry counts from its creation.
func TestForeignStatusIsNotOurs(t *testing.T) {
	m := EphemeralInfra()
	rec := parse(t, `{"$type":"computer.socialweb.ephemeralInfra","contracts":[],"status":{"phase":"deployed","expiresAt":"2099-01-01T00:00:00Z"}}`)
	obj := &socialweb.EphemeralInfra{}
	obj.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if _, err := m.Decode(rec, obj); err != nil {
		t.Fatal(err)
	}
	m.FirstSight(obj, repostore.Sight{Record: rec, Now: time.Now()})
	if obj.Status.Phase != "" {
		t.Errorf("took over phase %q", obj.Status.Phase)
	}
	if want := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC); !obj.Status.ExpiresAt.Time.Equal(want) {
		t.Errorf("expiresAt %v, want %v (the default of an hour)", obj.Status.ExpiresAt, want)
	}
}

// TestForeignStatusIsReplaced: a status that is not even one makes no record
// invalid: it is ours to write.
func TestForeignStatusIsReplaced(t *testing.T) {
	m := Infra()
	obj := &socialweb.Infra{}
	rest, err := m.Decode(parse(t, `{"$type":"computer.socialweb.infra","contracts":[],"status":"all well"}`), obj)
	if err != nil {
		t.Fatal(err)
	}
	obj.Status.Phase = socialweb.PhaseStaged
	out, err := m.Encode(obj, rest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"phase": "staged"}, out["status"]); diff != "" {
		t.Error(diff)
	}
}

// TestEncodeIsStable: what Decode read, Encode writes, byte for byte: a record of
// ours never needs a put that nobody asked for.
func TestEncodeIsStable(t *testing.T) {
	m := Infra()
	obj := &socialweb.Infra{}
	obj.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	obj.Spec.Description = "d"
	timeout := int32(9)
	obj.Spec.Contracts = []socialweb.Contract{{
		Name: "a", State: socialweb.ContractReleased, VMName: "vm", BidderDIDs: []string{"did:web:a.example"},
		DenyBidderDIDs: []string{"did:web:b.example"}, SSHAuthorizedKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJp4UeYmwH1nXhKeRxwgMWRQ3xsRCEpkuGhLOKBZ4mQm a"},
		UserData: "#cloud-config", Policy: "cheapest", PolicyArgs: []string{"1"}, VMReadyTimeoutSec: &timeout,
	}}
	first, err := m.Encode(obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	back := &socialweb.Infra{}
	rest, err := m.Decode(first, back)
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Encode(back, rest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	a, _ := m.Declaration(obj)
	b, _ := m.Declaration(back)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(foreign))
	for _, c := range corpus(f) {
		b, err := json.Marshal(c.Record)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		record, err := atdata.UnmarshalJSON(data)
		if err != nil {
			return
		}
		for _, m := range []repostore.RecordMapper{Infra(), EphemeralInfra()} {
			checkRoundTrip(t, m, record)
		}
	})
}

// checkRoundTrip: a record is refused with a typed error, or what it declares
// survives our own writing of it.
func checkRoundTrip(t *testing.T, m repostore.RecordMapper, record map[string]any) {
	var obj runtime.Object = m.New()
	rest, err := m.Decode(record, obj)
	if err != nil {
		var invalid *repostore.InvalidRecordError
		if !errors.As(err, &invalid) {
			t.Fatalf("untyped error %v for %v", err, record)
		}
		return
	}
	out, err := m.Encode(obj, rest)
	if err != nil {
		t.Fatalf("can't write what could be read: %v", err)
	}
	back := m.New()
	if _, err := m.Decode(out, back); err != nil {
		t.Fatalf("can't read what we wrote: %v", err)
	}
	before, _ := m.Declaration(obj)
	after, _ := m.Declaration(back)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatal(diff)
	}
}
