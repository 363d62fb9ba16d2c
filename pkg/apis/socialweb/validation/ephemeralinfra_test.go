package validation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// at is a fixed time, n seconds later.
func at(n int) *metav1.Time {
	t := metav1.NewTime(time.Date(2026, 11, 30, 3, 0, n, 0, time.UTC))
	return &t
}

func TestValidateEphemeralInfraCreate(t *testing.T) {
	cases := []struct {
		name   string
		change func(*socialweb.EphemeralInfra)
		kind   field.ErrorType
		path   string
	}{
		{"as it is", func(*socialweb.EphemeralInfra) {}, "", ""},
		{"shortest life", func(i *socialweb.EphemeralInfra) { i.Spec.TTLSeconds = seconds(60) }, "", ""},
		{"no life", func(i *socialweb.EphemeralInfra) { i.Spec.TTLSeconds = nil }, field.ErrorTypeRequired, "spec.ttlSeconds"},
		{"life zero", func(i *socialweb.EphemeralInfra) { i.Spec.TTLSeconds = seconds(0) }, field.ErrorTypeInvalid, "spec.ttlSeconds"},
		{"life too short", func(i *socialweb.EphemeralInfra) { i.Spec.TTLSeconds = seconds(59) }, field.ErrorTypeInvalid, "spec.ttlSeconds"},
		{"life too long", func(i *socialweb.EphemeralInfra) { i.Spec.TTLSeconds = seconds(315360001) }, field.ErrorTypeInvalid, "spec.ttlSeconds"},
		{"at the deadline", func(i *socialweb.EphemeralInfra) { i.Spec.EndWhen = socialweb.EndDeadline }, "", ""},
		{"unknown end", func(i *socialweb.EphemeralInfra) { i.Spec.EndWhen = "Never" }, field.ErrorTypeNotSupported, "spec.endWhen"},
		{"end of a record", func(i *socialweb.EphemeralInfra) { i.Spec.EndWhen = "complete" }, field.ErrorTypeNotSupported, "spec.endWhen"},
		{"contract without a name", func(i *socialweb.EphemeralInfra) { i.Spec.Contracts[0].Name = "" }, field.ErrorTypeRequired, "spec.contracts[0].name"},
		{"name upper case", func(i *socialweb.EphemeralInfra) { i.Name = "Job" }, field.ErrorTypeInvalid, "metadata.name"},
		{"uri of another kind", func(i *socialweb.EphemeralInfra) {
			i.Spec.Record = &socialweb.RecordBinding{RepoRef: socialweb.RepoReference{Name: "a"}, URI: ownURI, DeletionPolicy: socialweb.DeletionDelete}
		}, field.ErrorTypeInvalid, "spec.record.uri"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			infra := newEphemeral(t)
			tc.change(infra)
			want(t, ValidateEphemeralInfraCreate(infra), tc.kind, tc.path)
			// An update into the same is refused for the same reason.
			if tc.path != "metadata.name" {
				want(t, ValidateEphemeralInfraUpdate(infra, newEphemeral(t)), tc.kind, tc.path)
			}
		})
	}
}

func TestEphemeralUpdateWarnings(t *testing.T) {
	old, now := newEphemeral(t), newEphemeral(t)
	now.Spec.TTLSeconds = seconds(120)
	if w := EphemeralInfraUpdateWarnings(now, old); len(w) != 0 {
		t.Errorf("the deadline isn't fixed yet, but: %v", w)
	}
	old.Status.ExpiresAt = at(0)
	if w := EphemeralInfraUpdateWarnings(now, old); len(w) != 1 {
		t.Errorf("the deadline doesn't move: want one warning, got %v", w)
	}
}

func TestValidateEphemeralInfraStatusUpdate(t *testing.T) {
	ended := func(i *socialweb.EphemeralInfra) {
		i.Status.ExpiresAt, i.Status.EndedAt, i.Status.EndReason = at(0), at(1), socialweb.EndedDeadline
	}
	cases := []struct {
		name     string
		old, now func(*socialweb.EphemeralInfra)
		kind     field.ErrorType
		path     string
	}{
		{"nothing", nil, nil, "", ""},
		{"ends", nil, ended, "", ""},
		{"ending", nil, func(i *socialweb.EphemeralInfra) { i.Status.Phase = socialweb.PhaseEnding }, "", ""},
		{"stays ended", ended, ended, "", ""},
		{"deadline moved", func(i *socialweb.EphemeralInfra) { i.Status.ExpiresAt = at(0) }, func(i *socialweb.EphemeralInfra) { i.Status.ExpiresAt = at(1) }, field.ErrorTypeInvalid, "status.expiresAt"},
		{"deadline removed", func(i *socialweb.EphemeralInfra) { i.Status.ExpiresAt = at(0) }, nil, field.ErrorTypeInvalid, "status.expiresAt"},
		{"end moved", ended, func(i *socialweb.EphemeralInfra) { ended(i); i.Status.EndedAt = at(9) }, field.ErrorTypeInvalid, "status.endedAt"},
		{"reason changed", ended, func(i *socialweb.EphemeralInfra) { ended(i); i.Status.EndReason = socialweb.EndedComplete }, field.ErrorTypeInvalid, "status.endReason"},
		{"end without a reason", nil, func(i *socialweb.EphemeralInfra) { i.Status.EndedAt = at(0) }, field.ErrorTypeRequired, "status.endReason"},
		{"reason without an end", nil, func(i *socialweb.EphemeralInfra) { i.Status.EndReason = socialweb.EndedComplete }, field.ErrorTypeRequired, "status.endedAt"},
		{"unknown reason", nil, func(i *socialweb.EphemeralInfra) { i.Status.EndedAt, i.Status.EndReason = at(0), "Bored" }, field.ErrorTypeNotSupported, "status.endReason"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			old, now := newEphemeral(t), newEphemeral(t)
			if tc.old != nil {
				tc.old(old)
			}
			if tc.now != nil {
				tc.now(now)
			}
			want(t, ValidateEphemeralInfraStatusUpdate(now, old), tc.kind, tc.path)
		})
	}
}
