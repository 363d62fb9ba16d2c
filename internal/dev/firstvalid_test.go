package dev_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A record that is no valid EphemeralInfra at first, and becomes one, gets its deadline
// then: nothing that is ephemeral runs for ever.
func TestDeadlineOfARecordThatWasInvalid(t *testing.T) {
	d := testdev.Start(t, testdev.Options{})
	created := time.Now().UTC().Add(-time.Minute).Truncate(time.Second)
	put := func(contracts any) {
		t.Helper()
		record := map[string]any{
			"$type": lexicons.EphemeralInfra, "contracts": contracts,
			"ttlSeconds": int64(600), "createdAt": created.Format(time.RFC3339),
		}
		if _, err := d.Repo.PutRecord(t.Context(), atproto.Key{Collection: lexicons.EphemeralInfra, RKey: "job"}, record, atproto.Swap{Any: true}); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(what string, is func(*v1alpha1.EphemeralInfra) bool) (got *v1alpha1.EphemeralInfra) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) (bool, error) {
			var err error
			got, err = d.Client.SocialwebV1alpha1().EphemeralInfras().Get(ctx, "job", metav1.GetOptions{})
			return err == nil && is(got), err
		})
		return got
	}
	put("none")
	shows("invalid", func(o *v1alpha1.EphemeralInfra) bool {
		return meta.IsStatusConditionFalse(o.Status.Conditions, v1alpha1.ConditionRecordValid)
	})
	put([]any{map[string]any{"name": "front", "state": "staged"}})
	got := shows("valid", func(o *v1alpha1.EphemeralInfra) bool { return len(o.Spec.Contracts) == 1 })
	if want := created.Add(600 * time.Second); got.Status.ExpiresAt == nil || !got.Status.ExpiresAt.Time.Equal(want) {
		t.Errorf("expiresAt %v, want %v", got.Status.ExpiresAt, want)
	}
}
