package install

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
)

// seeds are manifests of every kind, whole and broken.
var seeds = []string{
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"web"},"spec":{"description":"d","contracts":[{"name":"front","state":"Requested","vmName":"front-1","bidderDids":["did:web:a.example.com"],"denyBidderDids":["did:web:b.example.com"],"sshAuthorizedKeys":["ssh-ed25519 AAAA me"],"userData":"#cloud-config\n","policy":"cheapest","policyArgs":["max=3"],"vmReadyTimeoutSec":300},{"name":"back"}],"secrets":[{"contract":"front","secretRef":{"name":"keys","namespace":"vault"}}],"record":{"repoRef":{"name":"main"},"uri":"at://did:web:a.example.com/computer.socialweb.infra/web","deletionPolicy":"Retain"}},"status":{"observedGeneration":2,"phase":"Deploying","contracts":[{"name":"front","phase":"Deployed","winner":"did:web:a.example.com","receipt":"at://did:web:a.example.com/com.example.r/1","message":"up"}],"conditions":[{"type":"Ready","status":"True","reason":"Fine","message":"","lastTransitionTime":"2026-11-30T03:00:00Z"}],"record":{"uri":"at://did:web:a.example.com/computer.socialweb.infra/web","cid":"bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm","rev":"3jzfcijpj2z2a","direction":"InSync","syncedAt":"2026-11-30T03:00:00Z"}}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"EphemeralInfra","metadata":{"name":"job"},"spec":{"contracts":[{"name":"run"}],"ttlSeconds":60,"endWhen":"Deadline"},"status":{"expiresAt":"2026-11-30T03:00:00Z","endedAt":"2026-11-30T03:00:00Z","endReason":"Deadline"}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"AtprotoRepo","metadata":{"name":"main"},"spec":{"did":"did:plc:ewvi7nxzyoun6zhxrhs64oiz","pds":"https://pds.example.com","credentialsRef":{"name":"alice"},"access":"Read","default":true,"eventSource":"Jetstream","jetstreamURL":"wss://jet.example.com","staleReads":"Allow","execution":"Follow"},"status":{"lagSeconds":3,"rev":"3jzfcijpj2z2a"}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"ComputeContract","metadata":{"name":"infra-web-front"},"spec":{"vmName":"front-1","bidderDids":["did:web:a.example.com"],"sshAuthorizedKeys":["ssh-ed25519 AAAA me"],"policyArgs":["max=3"],"vmReadyTimeoutSec":300,"secretsRef":{"name":"keys"},"resources":{"cpu":"500m","memory":"4Gi","storage":"1e9"},"image":"debian","release":true,"ttlSecondsAfterFinished":60},"status":{"phase":"Held","winner":"did:web:a.example.com","receipt":{"uri":"at://did:web:a.example.com/com.example.r/1","cid":"bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm"},"endpoint":"192.0.2.7:22","heldAt":"2026-11-30T03:00:00Z"}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"InfraCollection","metadata":{"name":"all"},"spec":{"repoRef":{"name":"main"},"execution":"Follow","maxItems":7},"status":{"executeGranted":true,"items":1,"children":[{"uri":"at://did:web:a.example.com/computer.socialweb.infra/web","name":"web"}]}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"EphemeralInfraCollection","spec":{"maxItems":0}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"ComputeContract","spec":{"resources":{"cpu":"x"}}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","spec":{"contracts":[{},{"name":"A"},null]}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"EphemeralInfra","spec":{"ttlSeconds":0,"endWhen":""}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"AtprotoRepo","spec":{"pds":"https://a:b@c","jetstreamURL":":"}}`,
	`{"apiVersion":"socialweb.computer/v1alpha1","kind":"InfraList","items":[{"metadata":{"name":"a"}}]}`,
}

// validate runs the validation of a kind, of the object as created, as updated
// from itself and as its status is written.
func validate(obj runtime.Object) (create, update, status field.ErrorList) {
	switch o := obj.(type) {
	case *socialweb.Infra:
		return validation.ValidateInfraCreate(o), validation.ValidateInfraUpdate(o, o), validation.ValidateInfraStatusUpdate(o, o)
	case *socialweb.EphemeralInfra:
		return validation.ValidateEphemeralInfraCreate(o), validation.ValidateEphemeralInfraUpdate(o, o), validation.ValidateEphemeralInfraStatusUpdate(o, o)
	case *socialweb.AtprotoRepo:
		return validation.ValidateAtprotoRepoCreate(o), validation.ValidateAtprotoRepoUpdate(o, o), validation.ValidateAtprotoRepoStatusUpdate(o, o)
	case *socialweb.ComputeContract:
		return validation.ValidateComputeContractCreate(o), validation.ValidateComputeContractUpdate(o, o), validation.ValidateComputeContractStatusUpdate(o, o)
	case *socialweb.InfraCollection:
		return validation.ValidateInfraCollectionCreate(o), validation.ValidateInfraCollectionUpdate(o, o), validation.ValidateInfraCollectionStatusUpdate(o, o)
	case *socialweb.EphemeralInfraCollection:
		return validation.ValidateEphemeralInfraCollectionCreate(o), validation.ValidateEphemeralInfraCollectionUpdate(o, o), validation.ValidateEphemeralInfraCollectionStatusUpdate(o, o)
	}
	return nil, nil, nil
}

// FuzzAPIRoundTrip feeds arbitrary manifests. What decodes must come back from
// its version as it was, and validation must neither panic nor change it.
func FuzzAPIRoundTrip(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	scheme := newScheme()
	codecs := serializer.NewCodecFactory(scheme)
	codec := codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)
	f.Fuzz(func(t *testing.T, raw []byte) {
		obj, err := runtime.Decode(codec, raw)
		if err != nil {
			return
		}
		if gvk := obj.GetObjectKind().GroupVersionKind(); gvk.Group != "" && gvk.Group != socialweb.GroupName {
			return
		}
		before := obj.DeepCopyObject()
		create, update, _ := validate(obj)
		if !equality.Semantic.DeepEqual(before, obj) {
			t.Fatalf("validation changed the object")
		}
		if len(create) == 0 && len(update) != 0 && hasResourceVersion(obj) {
			t.Fatalf("valid to create, but an update that changes nothing isn't: %v", update)
		}
		out, err := runtime.Encode(codec, obj)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		again, err := runtime.Decode(codec, out)
		if err != nil {
			t.Fatalf("decode what was encoded: %v\n%s", err, out)
		}
		if !equality.Semantic.DeepEqual(obj, again) {
			t.Fatalf("the round trip changed the object:\n%#v\n%#v", obj, again)
		}
	})
}

// hasResourceVersion: an update needs one, a create has none.
func hasResourceVersion(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	return err == nil && m.GetResourceVersion() != ""
}
