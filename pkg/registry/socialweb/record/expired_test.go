package record

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// TestExpiredAtFirstSight: what had expired when it was first seen says so, also
// after its view was lost, and nothing else does.
func TestExpiredAtFirstSight(t *testing.T) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	before, after := created.Add(time.Hour-time.Second), created.Add(time.Hour)
	rec := parse(t, `{"$type":"computer.socialweb.ephemeralInfra","contracts":[],"ttlSeconds":3600}`)
	for name, c := range map[string]struct {
		mapper repostore.RecordMapper
		sight  repostore.Sight
		want   bool
	}{
		"in time":                     {EphemeralInfra(), repostore.Sight{Record: rec, Now: before, First: before}, false},
		"too late":                    {EphemeralInfra(), repostore.Sight{Record: rec, Now: after, First: after}, true},
		"rebuilt, seen in time":       {EphemeralInfra(), repostore.Sight{Record: rec, Ours: true, Now: after, First: before}, false},
		"rebuilt, seen too late":      {EphemeralInfra(), repostore.Sight{Record: rec, Ours: true, Now: after.Add(time.Hour), First: after}, true},
		"rebuilt, nobody knows since": {EphemeralInfra(), repostore.Sight{Record: rec, Ours: true, Now: after}, false},
		"created by the API":          {EphemeralInfra(), repostore.Sight{Now: after, First: after}, false},
		"an Infra":                    {Infra(), repostore.Sight{Record: rec, Now: after, First: after}, false},
	} {
		t.Run(name, func(t *testing.T) {
			obj := c.mapper.New()
			accessor, err := meta.Accessor(obj)
			if err != nil {
				t.Fatal(err)
			}
			accessor.SetCreationTimestamp(metav1.NewTime(created))
			if c.mapper.Collection() == EphemeralInfra().Collection() {
				if _, err := c.mapper.Decode(rec, obj); err != nil {
					t.Fatal(err)
				}
			}
			c.mapper.FirstSight(obj, c.sight)
			got := meta.FindStatusCondition(*c.mapper.Conditions(obj), socialweb.ConditionExpiredAtFirstSight)
			if (got != nil) != c.want || got != nil && (got.Status != metav1.ConditionTrue || got.Reason != socialweb.ReasonExpired) {
				t.Errorf("%+v", got)
			}
			if e, ok := obj.(*socialweb.EphemeralInfra); ok && e.Status.ExpiresAt == nil {
				t.Error("no expiry")
			}
		})
	}
}
