package registry_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
	"socialweb.computer/infra-apiserver/pkg/registry"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/atprotorepo"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/deployment"
)

// stores are the stores of a kind's main resource and of its status. Nothing is
// stored: these tests call the strategies alone.
func stores(t *testing.T, k registry.Kind) (main *genericregistry.Store, status rest.RESTUpdateStrategy) {
	t.Helper()
	c := storagebackend.NewDefaultConfig("/test", apiserver.Codecs.LegacyCodec(k.Version))
	c.Transport.ServerList = []string{"http://127.0.0.1:1"}
	options := generic.RESTOptions{StorageConfig: c.ForResource(k.Resource), ResourcePrefix: k.Resource.Resource, Decorator: noStorage}
	r, s, err := registry.NewREST(k, apiserver.Scheme, options)
	if err != nil {
		t.Fatal(err)
	}
	return r.Store, s.UpdateStrategy()
}

func in(t *testing.T, ws string) context.Context { return repostore.WithWorkspace(t.Context(), ws) }

func infra(f func(*socialweb.Infra)) *socialweb.Infra {
	o := &socialweb.Infra{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", ResourceVersion: "5", UID: "u", Generation: 3, Finalizers: []string{"f/f"},
			Labels: map[string]string{"l": "1"}, Annotations: map[string]string{repostore.ClusterAnnotation: "w"},
		},
		Spec:   socialweb.InfraSpec{Description: "d", Contracts: []socialweb.Contract{{Name: "c", State: socialweb.ContractStaged}}},
		Status: socialweb.InfraStatus{Phase: socialweb.PhaseStaged, Record: &socialweb.RecordStatus{URI: "at://x"}},
	}
	if f != nil {
		f(o)
	}
	return o
}

func TestCreate(t *testing.T) {
	main, _ := stores(t, deployment.Infra())
	o := infra(func(o *socialweb.Infra) {
		o.Generation = 9
		o.Annotations[repostore.ClusterAnnotation] = "elsewhere"
	})
	main.CreateStrategy.PrepareForCreate(in(t, "w"), o)
	if o.Generation != 1 || o.Status.Phase != "" || o.Status.Record != nil {
		t.Errorf("generation %d, status %+v", o.Generation, o.Status)
	}
	if got := o.Annotations[repostore.ClusterAnnotation]; got != "w" {
		t.Errorf("workspace %q", got)
	}
	if len(o.Finalizers) != 1 {
		t.Errorf("finalizers %v", o.Finalizers)
	}

	repos, _ := stores(t, atprotorepo.Kind(false))
	r := &socialweb.AtprotoRepo{}
	repos.CreateStrategy.PrepareForCreate(in(t, "w"), r)
	repos.CreateStrategy.PrepareForCreate(in(t, "w"), r)
	if len(r.Finalizers) != 1 || r.Finalizers[0] != socialweb.FinalizerInUse {
		t.Errorf("finalizers %v", r.Finalizers)
	}
	if main.CreateStrategy.NamespaceScoped() || main.UpdateStrategy.AllowCreateOnUpdate(t.Context()) || main.UpdateStrategy.AllowUnconditionalUpdate(t.Context()) {
		t.Error("a kind is namespaced, created by an update or updated unconditionally")
	}
}

func TestUpdate(t *testing.T) {
	main, _ := stores(t, deployment.Infra())
	for name, c := range map[string]struct {
		change     func(*socialweb.Infra)
		generation int64
		refused    string
	}{
		"nothing":         {func(*socialweb.Infra) {}, 3, ""},
		"a label":         {func(o *socialweb.Infra) { o.Labels["l"] = "2" }, 3, ""},
		"the status":      {func(o *socialweb.Infra) { o.Status.Phase = socialweb.PhaseDeployed }, 3, ""},
		"status.record":   {func(o *socialweb.Infra) { o.Status.Record.URI = "at://y" }, 3, ""},
		"the description": {func(o *socialweb.Infra) { o.Spec.Description = "e" }, 4, ""},
		"a secret": {func(o *socialweb.Infra) {
			o.Spec.Secrets = []socialweb.ContractSecret{{Contract: "c", SecretRef: socialweb.SecretReference{Name: "s"}}}
		}, 4, ""},
		"empty in place of none":  {func(o *socialweb.Infra) { o.Spec.Secrets = []socialweb.ContractSecret{} }, 3, ""},
		"the workspace dropped":   {func(o *socialweb.Infra) { o.Annotations = nil }, 3, ""},
		"the workspace changed":   {func(o *socialweb.Infra) { o.Annotations[repostore.ClusterAnnotation] = "v" }, 3, repostore.ClusterAnnotation},
		"two contracts of a name": {func(o *socialweb.Infra) { o.Spec.Contracts = append(o.Spec.Contracts, o.Spec.Contracts[0]) }, 4, "spec.contracts[1].name"},
	} {
		t.Run(name, func(t *testing.T) {
			old, o := infra(nil), infra(c.change)
			main.UpdateStrategy.PrepareForUpdate(in(t, "w"), o, old)
			if o.Generation != c.generation {
				t.Errorf("generation %d, want %d", o.Generation, c.generation)
			}
			if o.Status.Phase != old.Status.Phase || *o.Status.Record != *old.Status.Record {
				t.Errorf("status %+v", o.Status)
			}
			errs := main.UpdateStrategy.ValidateUpdate(in(t, "w"), o, old).ToAggregate()
			switch {
			case c.refused == "" && errs != nil:
				t.Errorf("refused: %v", errs)
			case c.refused == "" && o.Annotations[repostore.ClusterAnnotation] != "w":
				t.Errorf("workspace %q", o.Annotations[repostore.ClusterAnnotation])
			case c.refused != "" && (errs == nil || !strings.Contains(errs.Error(), c.refused)):
				t.Errorf("error %v, want one at %s", errs, c.refused)
			}
		})
	}
}

func TestStatusUpdateChangesTheStatusAlone(t *testing.T) {
	_, status := stores(t, deployment.Infra())
	old := infra(nil)
	o := infra(func(o *socialweb.Infra) {
		o.Labels, o.Annotations, o.Finalizers, o.Generation = nil, nil, nil, 7
		o.OwnerReferences = []metav1.OwnerReference{{Name: "x"}}
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		o.Spec.Description = "by status"
		o.Status.Phase, o.Status.Record = socialweb.PhaseDeployed, &socialweb.RecordStatus{URI: "at://forged"}
	})
	status.PrepareForUpdate(in(t, "w"), o, old)
	want := infra(func(o *socialweb.Infra) {
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		o.Status.Phase = socialweb.PhaseDeployed
	})
	if !equalObjects(o, want) {
		t.Errorf("got %+v\nwant %+v", o, want)
	}
	o.Labels["l"] = "changed"
	if old.Labels["l"] != "1" {
		t.Error("the new object shares its labels with the old one")
	}
}

func TestWarnings(t *testing.T) {
	main, _ := stores(t, deployment.Infra())
	key := func(o *socialweb.Infra) { o.Spec.Contracts[0].UserData = "-----BEGIN PRIVATE KEY-----" }
	if w := main.CreateStrategy.WarningsOnCreate(t.Context(), infra(key)); len(w) != 1 || !strings.Contains(w[0], "spec.contracts[0].userData") {
		t.Errorf("at creation: %v", w)
	}
	if w := main.UpdateStrategy.WarningsOnUpdate(t.Context(), infra(key), infra(nil)); len(w) != 1 {
		t.Errorf("by a change: %v", w)
	}
	if w := main.UpdateStrategy.WarningsOnUpdate(t.Context(), infra(key), infra(key)); len(w) != 0 {
		t.Errorf("again, for what was there: %v", w)
	}
}

func TestResetFields(t *testing.T) {
	k := deployment.Infra()
	main, _ := stores(t, k)
	set := main.ResetFieldsStrategy.GetResetFields()["socialweb.computer/v1alpha1"]
	if set == nil || !strings.Contains(set.String(), "status") || strings.Contains(set.String(), "spec") {
		t.Errorf("main resource: %v", set)
	}
}
