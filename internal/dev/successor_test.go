package dev_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// A collection that was granted to run what the records of an AtprotoRepo ask for keeps
// the grant when that is made anew, for any account: so it is not made by who may not
// execute. By the door of a workspace nobody may.
func TestGrantedCollectionsGetNoOtherRepo(t *testing.T) {
	d := testdev.Start(t, testdev.Options{Workspaces: true})
	door := rest.CopyConfig(d.Config)
	door.Host += "/clusters/default"
	tenant, err := versioned.NewForConfig(door)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]v1alpha1.ExecutionPolicy{"granted": v1alpha1.ExecutionFollow, "shown": v1alpha1.ExecutionObserveOnly} {
		c := &v1alpha1.EphemeralInfraCollection{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.RepoRef.Name, c.Spec.Execution = name, e
		c, err := d.Client.SocialwebV1alpha1().EphemeralInfraCollections().Create(t.Context(), c, metav1.CreateOptions{})
		if err != nil || c.Status.ExecuteGranted != (name == "granted") {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	create := func(client versioned.Interface, name string) error {
		r := &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AtprotoRepoSpec{
			DID: "did:web:another.example.com", Access: v1alpha1.AccessNone,
		}}
		_, err := client.SocialwebV1alpha1().AtprotoRepos().Create(t.Context(), r, metav1.CreateOptions{})
		return err
	}
	if err := create(tenant, "granted"); !apierrors.IsForbidden(err) {
		t.Errorf("an AtprotoRepo for a collection with a grant: %v, want 403", err)
	}
	if err := create(tenant, "shown"); err != nil {
		t.Errorf("for one that only shows: %v", err)
	}
	if err := create(d.Client, "granted"); err != nil {
		t.Errorf("by who may execute: %v", err)
	}
}
