// Package testinfra is what tests do with Infras and AtprotoRepos by typed clients, on
// whichever server they run.
package testinfra

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// New is an Infra with one contract.
func New(name, description string) *v1alpha1.Infra {
	return &v1alpha1.Infra{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InfraSpec{
			Description: description,
			Contracts:   []v1alpha1.Contract{{Name: "web", State: v1alpha1.ContractStaged}},
		},
	}
}

// Change edits an Infra as it is now, again where it has changed meanwhile: the server
// marks an object that was written as being in sync a moment later.
func Change(t testing.TB, infras typed.InfraInterface, name string, edit func(*v1alpha1.Infra)) (out *v1alpha1.Infra) {
	t.Helper()
	testwait.Until(t, "change of "+name, func() error {
		obj, err := infras.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("get %s: %v", name, err)
		}
		edit(obj)
		if out, err = infras.Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			t.Fatalf("change of %s: %v", name, err)
		}
		return err
	})
	return out
}

// Settled waits until every Infra and its record agree, with nothing left to be
// published: from then on nothing changes by itself.
func Settled(t testing.TB, infras typed.InfraInterface) {
	t.Helper()
	testwait.Until(t, "everything in sync", func() error {
		l, err := infras.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, i := range l.Items {
			if i.Status.Record != nil && i.Status.Record.Direction != v1alpha1.DirectionInSync {
				return fmt.Errorf("%s: %+v", i.Name, i.Status.Record)
			}
		}
		return nil
	})
}

// AwaitRepo waits for a condition of an AtprotoRepo, of its newest generation.
func AwaitRepo(t testing.TB, repos typed.AtprotoRepoInterface, name, condition string, status metav1.ConditionStatus) (repo *v1alpha1.AtprotoRepo) {
	t.Helper()
	testwait.Until(t, "AtprotoRepo "+name+" "+condition+"="+string(status), func() (err error) {
		if repo, err = repos.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		c := meta.FindStatusCondition(repo.Status.Conditions, condition)
		if c == nil || c.Status != status || c.ObservedGeneration != repo.Generation {
			return fmt.Errorf("conditions %+v", repo.Status.Conditions)
		}
		return nil
	})
	return repo
}
