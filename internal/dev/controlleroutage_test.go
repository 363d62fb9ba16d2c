package dev_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// cached reads ask no PDS.
var cached = metav1.GetOptions{ResourceVersion: "0"}

// A deadline comes and goes while the PDS is away. The end is recorded at once and the
// contract released; object and record go on the PDS's return, and the end is the one
// that was recorded.
func TestDeadlineWhilePDSIsAway(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	proxy, d := behindProxy(t, testdev.Options{Controller: true, Deadlines: clk})
	l := lifecycle{t, d.Client.SocialwebV1alpha1()}
	jobs := l.api.EphemeralInfras()
	job := &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	job.Spec.TTLSeconds = ptr.To[int32](120)
	job.Spec.EndWhen = v1alpha1.EndDeadline
	job.Spec.Contracts = []v1alpha1.Contract{{Name: "run", State: v1alpha1.ContractRequested}}
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	soon(t, clk, "request", func(context.Context) (bool, error) { return len(l.contracts()) == 1, nil })
	l.fulfil("einfra-job-run", `{"phase":"Requesting"}`)
	l.fulfil("einfra-job-run", held)
	state := func(ctx context.Context) (*v1alpha1.EphemeralInfra, error) { return jobs.Get(ctx, "job", cached) }
	soon(t, clk, "Deployed", func(ctx context.Context) (bool, error) {
		got, err := state(ctx)
		return err == nil && got.Status.Phase == v1alpha1.PhaseDeployed, err
	})

	proxy.SetStreams(testproxy.StreamCut)
	proxy.Set(testproxy.Fault{Kind: testproxy.Refused})
	var ended *v1alpha1.EphemeralInfra
	eventually(t, "the end", func(ctx context.Context) (done bool, err error) {
		clk.Step(time.Minute) // again, lest it was stepped before the deadline was set
		ended, err = state(ctx)
		return err == nil && ended.Status.EndedAt != nil, err
	})
	if ended.Status.EndReason != v1alpha1.EndedDeadline || ended.Status.Phase != v1alpha1.PhaseEnding {
		t.Errorf("ended: %+v", ended.Status)
	}
	soon(t, clk, "release", func(context.Context) (bool, error) { return l.contracts()[0].Spec.Release, nil })
	l.fulfil("einfra-job-run", `{"phase":"Released"}`)
	soon(t, clk, "Released", func(ctx context.Context) (bool, error) {
		got, err := state(ctx)
		return err == nil && got.Status.Contracts[0].Phase == v1alpha1.ContractPhaseReleased, err
	})
	if got, err := state(t.Context()); err != nil || !got.Status.EndedAt.Equal(ended.Status.EndedAt) {
		t.Errorf("the end was written again: %+v, %v", got, err)
	}

	proxy.Clear()
	proxy.SetStreams(testproxy.StreamPass)
	eventually(t, "it goes", func(ctx context.Context) (bool, error) {
		clk.Step(time.Minute) // what the controller waits with is its clock's too
		_, err := jobs.Get(ctx, "job", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if rec, err := d.Repo.GetRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.ephemeralInfra", RKey: "job"}); !errors.Is(err, atproto.ErrRecordNotFound) {
		t.Errorf("its record: %+v, %v", rec, err)
	}
	if all := l.contracts(); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}

// behindProxy is dev on a PDS that it reaches by a proxy.
func behindProxy(t *testing.T, o testdev.Options) (*testproxy.Proxy, *testdev.Dev) {
	t.Helper()
	pds := testpds.StartDev(t, testpds.Options{})
	proxy, err := testproxy.New(pds.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() }) // the server's own connections are cut, as it should
	proxied := *pds
	proxied.URL = proxy.URL()
	o.PDS = &proxied
	return proxy, testdev.Start(t, o)
}

// A record that is unbound stays, and what was deployed runs on (plan 0029, U1).
func TestUnboundRunsOn(t *testing.T) {
	d := testdev.Start(t, testdev.Options{Controller: true})
	l := lifecycle{t, d.Client.SocialwebV1alpha1()}
	web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.Contracts = []v1alpha1.Contract{{Name: "front", State: v1alpha1.ContractRequested}}
	if _, err := l.api.Infras().Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "request", func(context.Context) (bool, error) { return len(l.contracts()) == 1, nil })
	l.fulfil("infra-web-front", held)
	l.phase("web", v1alpha1.PhaseDeployed, v1alpha1.ContractPhaseDeployed)
	uid := l.contracts()[0].UID

	l.patch("web", `{"spec":{"record":null,"description":"private now"}}`)
	eventually(t, "the change is seen", func(ctx context.Context) (bool, error) {
		got, err := l.api.Infras().Get(ctx, "web", metav1.GetOptions{})
		return err == nil && got.Status.ObservedGeneration == got.Generation, err
	})
	l.phase("web", v1alpha1.PhaseDeployed, v1alpha1.ContractPhaseDeployed)
	if all := l.contracts(); len(all) != 1 || all[0].UID != uid || all[0].Spec.Release {
		t.Errorf("unbound: %v", all)
	}
	rec, err := d.Repo.GetRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.infra", RKey: "web"})
	if err != nil || rec.Value["description"] == "private now" {
		t.Errorf("its record: %+v, %v", rec, err)
	}
}
