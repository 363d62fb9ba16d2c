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

// TestValidAgain: what a valid record has fixed stays when its record is mended; one
// that was never valid gets it then.
func TestValidAgain(t *testing.T) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fixed := metav1.NewTime(created.Add(time.Minute))
	rec := parse(t, `{"$type":"computer.socialweb.ephemeralInfra","contracts":[],"ttlSeconds":3600}`)
	for _, c := range []struct {
		name   string
		before *metav1.Time
		now    time.Time
		want   time.Time
		shown  bool // only
	}{
		{"never valid", nil, created.Add(time.Minute), created.Add(time.Hour), false},
		{"never valid, and too late", nil, created.Add(2 * time.Hour), created.Add(time.Hour), true},
		{"valid before", &fixed, created.Add(2 * time.Hour), fixed.Time, false},
	} {
		o := &socialweb.EphemeralInfra{}
		o.CreationTimestamp, o.Status.ExpiresAt = metav1.NewTime(created), c.before
		if _, err := EphemeralInfra().Decode(rec, o); err != nil {
			t.Fatal(err)
		}
		EphemeralInfra().FirstSight(o, repostore.Sight{Record: rec, Late: true, Now: c.now, First: c.now})
		if o.Status.ExpiresAt == nil || !o.Status.ExpiresAt.Time.Equal(c.want) ||
			meta.IsStatusConditionTrue(o.Status.Conditions, socialweb.ConditionExpiredAtFirstSight) != c.shown {
			t.Errorf("%s: %+v", c.name, o.Status)
		}
	}
}
