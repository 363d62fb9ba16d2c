package controller_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// The ComputeContracts may be another server's. Both are kept by their plain roots.
func TestContractsElsewhere(t *testing.T) {
	here, there := testdev.Start(t, testdev.Options{}), testdev.Start(t, testdev.Options{})
	c, err := controller.New(controller.Config{Server: here.Config, Contracts: there.Config})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	infras, contracts := here.Client.SocialwebV1alpha1().Infras(), there.Client.SocialwebV1alpha1().ComputeContracts()
	eventually := func(what string, is func(ctx context.Context) (bool, error)) {
		t.Helper()
		testwait.Until(t, what, func() error { return yes(is(t.Context())) })
	}
	web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.Contracts = []v1alpha1.Contract{{Name: "front", State: v1alpha1.ContractRequested}}
	if _, err := infras.Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("the ComputeContract", func(ctx context.Context) (bool, error) {
		_, err := contracts.Get(ctx, "infra-web-front", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	if _, err := contracts.Patch(t.Context(), "infra-web-front", types.MergePatchType, []byte(`{"status":{"phase":"Held"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	eventually("deployed", func(ctx context.Context) (bool, error) {
		got, err := infras.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && got.Status.Phase == v1alpha1.PhaseDeployed, err
	})
	if err := infras.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("release", func(ctx context.Context) (bool, error) {
		cc, err := contracts.Get(ctx, "infra-web-front", metav1.GetOptions{})
		return err == nil && cc.Spec.Release, err
	})
	if _, err := contracts.Patch(t.Context(), "infra-web-front", types.MergePatchType, []byte(`{"status":{"phase":"Released"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	eventually("the end", func(ctx context.Context) (bool, error) {
		_, err := infras.Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
	if _, err := contracts.Get(t.Context(), "infra-web-front", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ComputeContract is left: %v", err)
	}
	if list, err := here.Client.SocialwebV1alpha1().ComputeContracts().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("here: %v, %v", list, err)
	}
}

// yes is nil where something is so. What a server that is busy can't answer is asked again.
func yes(is bool, err error) error {
	if err == nil && !is {
		err = errors.New("not yet")
	}
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
